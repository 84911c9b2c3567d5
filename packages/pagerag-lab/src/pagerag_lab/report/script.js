for (const box of document.querySelectorAll(".find")) {
  const rows = [...box.nextElementSibling.querySelectorAll("tbody tr")];
  const cards = [...box.nextElementSibling.nextElementSibling.children];
  box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase();
    rows.forEach((row, place) => {
      const hidden = !row.textContent.toLowerCase().includes(wanted);
      row.hidden = hidden;
      cards[place].hidden = hidden;
    });
  });
}

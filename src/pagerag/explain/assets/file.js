"use strict";
/* The exported file: draws the view that it carries. */
pagerag.draw(JSON.parse(document.getElementById("view").textContent), document.getElementById("result"));

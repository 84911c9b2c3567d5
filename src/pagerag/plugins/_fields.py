"""Give the settings of a stage as pydantic fields, for frameworks whose components are pydantic models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from pagerag.errors import InputError
from pagerag.plugins._stage import PromotionStage, same_k
from pagerag.promotion import Promoter
from pagerag.protocols import TokenCounter
from pagerag.units import Mode, SupportChoice


class StageFields(BaseModel):
    """The settings of ``PromotionStage`` as fields, checked when the component is made and when one is set.

    ``top_n`` and ``top_k`` are other names for ``k``. The stage is made from the fields at every call, so a
    field that was changed after construction, or by ``model_copy(update=...)``, takes effect.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", validate_assignment=True)

    k: int = Field(default=5, description="at most so many units come out")
    mode: Mode = Field(default="document", description="what a unit is")
    fill: bool = Field(default=True, description="fill the context up to k, or hand on the core alone")
    max_tokens: int | None = Field(default=None, description="at most so many tokens come out")
    strategy: str | None = Field(default=None, description="learned, formula, or the mode's default")
    support: SupportChoice = Field(default="auto", description="support encoder: auto, default, small, none")
    title_key: str | None = Field(default=None, description="where the title is in the metadata")
    source_key: str | None = Field(default=None, description="where the document's id is")
    position_key: str | None = Field(default=None, description="where the place in the document is")
    # Live objects: used, never written down.
    count_tokens: Annotated[TokenCounter | None, SkipJsonSchema()] = Field(default=None, exclude=True)
    promoter: Annotated[Promoter | None, SkipJsonSchema()] = Field(default=None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _k_by_any_name(cls, values: Any) -> Any:
        return same_k(values) if isinstance(values, Mapping) else values

    @field_validator("k", "max_tokens", "strategy")
    @classmethod
    def _usable(cls, value: Any, info: Any) -> Any:
        PromotionStage(**{info.field_name: value})
        return value

    @model_validator(mode="after")
    def _together(self) -> Self:
        self._stage()
        return self

    @property
    def top_n(self) -> int:
        """Return ``k`` by the name that rerankers of other libraries use."""
        return self.k

    @top_n.setter
    def top_n(self, value: int) -> None:
        self.k = value

    def __setattr__(self, name: str, value: Any) -> None:
        # Checked before pydantic sets it: its own model validators see the new value in place already.
        if name in PromotionStage.__dataclass_fields__:
            PromotionStage(**{**self._settings(), name: value})
        super().__setattr__(name, value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with the changes of ``update``, checked like any other setting."""
        changes = same_k(update or {})
        for name in changes:
            if name not in type(self).model_fields:
                raise InputError(f"{type(self).__name__} has no setting {name!r}")
        copy = super().model_copy(deep=deep)
        for name, value in changes.items():
            setattr(copy, name, value)
        return copy

    def _stage(self) -> PromotionStage:
        return PromotionStage(**self._settings())

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in StageFields.model_fields}

"""The settings of a stage as pydantic fields, for the frameworks whose components are pydantic models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from pagerag.plugins._stage import Stage
from pagerag.promotion import Promoter
from pagerag.protocols import TokenCounter
from pagerag.units import Mode

__all__ = ["StageFields"]


class StageFields(BaseModel):
    """What ``Stage`` has, field by field; ``_stage`` is made, and so checked, with the model."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    k: int = Field(default=5, description="at most so many units come out")
    mode: Mode = Field(default="document", description="what a unit is")
    fill: bool = Field(default=True, description="fill the context up to k, or hand on the core alone")
    max_tokens: int | None = Field(default=None, description="at most so many tokens come out")
    strategy: str | None = Field(default=None, description="learned, formula, or the mode's default")
    title_key: str | None = Field(default=None, description="where the title is in the metadata")
    source_key: str | None = Field(default=None, description="where the document's id is")
    position_key: str | None = Field(default=None, description="where the place in the document is")
    # Live objects: used, never written down.
    count_tokens: TokenCounter | None = Field(default=None, exclude=True)
    promoter: Promoter | None = Field(default=None, exclude=True)

    _stage: Stage = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Check the settings once, when the component is made."""
        super().model_post_init(context)
        self._stage = Stage(**{name: getattr(self, name) for name in StageFields.model_fields})

"""What the tables of the file that configures a board are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NO_NUL = r"^[^\x00]*$"
"""A file name with it cannot be opened."""
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=NO_NUL)]
PositiveU16 = Annotated[int, Field(gt=0, lt=1 << 16)]
PositiveU32 = Annotated[int, Field(gt=0, lt=1 << 32)]
PositiveNumber = Annotated[float, Field(gt=0, strict=False, allow_inf_nan=False)]


class Table(BaseModel):
    """A table of the file: it has no keys but its own, and no values of another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

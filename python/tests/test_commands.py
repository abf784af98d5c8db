"""Calls become command lines; what does not fit is an error before or after the program has seen it."""
import pytest

import trainyard as ty
from trainyard import commands


def test_flags_become_words():
    words = commands.command_line("predict", ["inception_v3"], {"device": "k80", "workers": [1, 2, 4], "batch": 32})
    assert words == ["predict", "--device=k80", "--workers=1,2,4", "--batch=32", "inception_v3"]


def test_switches_and_hyphens():
    assert commands.command_line("lab", ["run", "staleness"], {"quick": True, "again": False}) == ["lab", "--quick", "run", "staleness"]
    assert commands.command_line("lab", ["run", "x"], {"set": ["a=1", "b=2"]}) == ["lab", "--set=a=1", "--set=b=2", "run", "x"]


def test_unknown_flag_has_the_nearest_name():
    with pytest.raises(ty.RequestError, match="Did you mean device"):
        ty.predict("lenet5", devise="k80")


def test_unknown_command_is_no_attribute():
    with pytest.raises(AttributeError, match="Did you mean predict"):
        ty.predikt


def test_messages_of_the_program_are_exceptions():
    with pytest.raises(ty.RequestError, match="Did you mean vgg"):
        ty.analyze("vgg91")
    with pytest.raises(ty.TrainyardError):
        ty.check("/nowhere.onnx")


def test_rows_and_frames():
    result = ty.predict("lenet5", device="k80", workers=[1, 2])
    assert [row["workers"] for row in result.rows()] == [1, 2]
    assert result.json()["rows"] == result.rows("rows")
    frame = result.df()
    assert list(frame["workers"]) == [1, 2]
    with pytest.raises(ty.RequestError, match="there are: "):
        result.rows("nothing")


def test_every_command_has_a_docstring_with_its_flags():
    assert "batch" in ty.analyze.__doc__
    assert "receptive_field" in dir(ty)


def test_a_page_is_one_file(tmp_path):
    page = ty.receptive_field(3, 3).to_html(tmp_path / "page.html")
    assert page.read_text().startswith("<!doctype html>")

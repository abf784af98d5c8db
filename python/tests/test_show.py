"""What notebooks get: small, without the network, true without scripts."""
import json

import pytest

import trainyard as ty
from trainyard import show

LIMIT = 300_000


@pytest.fixture
def mode():
    yield ty.display
    ty.display("interactive")


def test_interactive_is_a_sandboxed_frame_below_the_limit():
    bundle = ty.predict("inception_v3", device="k80", workers=[1, 2, 4, 8])._repr_mimebundle_()
    assert 'sandbox="allow-scripts allow-downloads"' in bundle["text/html"]
    assert sum(len(part) for part in bundle.values()) < LIMIT
    assert "<svg" in bundle["image/svg+xml"]
    assert "images/s" in bundle["text/plain"]
    # What is left where frames are taken out.
    assert 'src="data:image/svg+xml' in bundle["text/html"]


def test_svg_mode_has_no_script(mode):
    mode("svg")
    bundle = ty.predict("lenet5", device="k80", workers=[1, 2])._repr_mimebundle_()
    assert "<script" not in bundle["text/html"] and "<iframe" not in bundle["text/html"]
    assert "<table" in bundle["text/html"]


def test_text_mode_is_text_alone(mode):
    mode("text")
    assert list(ty.predict("lenet5", device="k80")._repr_mimebundle_()) == ["text/plain"]


def test_unknown_mode(mode):
    with pytest.raises(ty.RequestError, match="interactive, svg, text"):
        mode("png")


def test_sections_of_a_lab(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lab = ty.lab("cnn-architectures", quick=True)
    heads = [block.text.splitlines()[0] for block in lab.blocks if block.kind == "heading"]
    section = lab.section(heads[0])
    assert section.figures().blocks
    with pytest.raises(ty.RequestError, match="there are: "):
        lab.section("no such heading")
    assert section.figure(1).kind == section.figures().blocks[0].kind
    assert "AlexNet has" in section.answer(1).text
    assert [block.kind for block in lab.answers().blocks] == ["answer"] * len(lab.answers().blocks)
    with pytest.raises(ty.RequestError, match="there is no answer 9 here"):
        section.answer(9)


def test_a_problem_of_the_course(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = ty.course("hw3-p3")
    assert problem.title.startswith("Homework 3, problem 3")
    assert "60,965,224" in problem.section("Question 1 (5 points)").answer(1).text


def test_results_are_found_from_any_folder(tmp_path, monkeypatch):
    (tmp_path / "runs").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    assert ty.find_runs(tmp_path / "runs") == str(tmp_path / "runs")
    assert ty.find_runs("/nowhere/runs") == str(tmp_path / "runs")
    assert ty.find_runs("/nowhere/others") == "others"


def size(shown):
    return sum(len(part.encode()) for part in shown.values())


def test_a_long_run_fits_into_a_cell(tmp_path):
    run = ty.train(model="lenet5", data="synthetic:1x28x28,classes=4,size=64", batch=64, threads=1, epochs=1, runs_dir=tmp_path, name="long")
    lines = [row for row in run.metrics() if "step" in row]
    with open(tmp_path / "long" / "metrics.jsonl", "w") as file:
        for epoch in range(10_000):
            for row in lines:
                file.write(json.dumps({**row, "step": epoch + 1, "epoch": epoch + row["epoch"]}) + "\n")
    result = ty.report(run)
    shown = result._repr_mimebundle_()
    assert 10_000 < size(shown) < LIMIT
    assert "of up to 10,000 points" in shown["text/plain"]
    assert result.to_html(tmp_path / "whole.html").stat().st_size > 1_000_000


def test_a_usual_run_answers_to_the_pointer(tmp_path):
    ty.train(model="lenet5", data="synthetic:1x28x28,classes=10,size=64", epochs=20, batch=16, threads=1, runs_dir=tmp_path, name="r")
    bundle = ty.report(tmp_path / "r")._repr_mimebundle_()
    assert "<iframe" in bundle["text/html"]
    assert "Training run r" in bundle["text/plain"]
    assert size(bundle) < LIMIT


def test_what_gives_way_for_the_frame(monkeypatch):
    """Pictures beside it, then most of the text, then the frame itself."""
    chart = {"kind": "chart", "title": "c", "html": "<p>" + "x" * 400 + "</p>", "svg": "<svg>" + "y" * 400 + "</svg>", "text": "chart\n"}
    text = {"kind": "text", "html": "<p></p>", "text": "long " * 2000}
    bundle = {"blocks": [chart, text], "title": "t", "lead": "", "page": "page", "cell": None}
    steps = [show.mime_bundle(bundle)]
    for _ in range(3):
        monkeypatch.setattr(show, "MOST_BYTES", size(steps[-1]) - 1)
        steps.append(show.mime_bundle(bundle))
    assert ["<iframe" in step.get("text/html", "") for step in steps] == [True, True, True, False]
    assert ["image/svg+xml" in step for step in steps[:3]] == [True, False, False]
    assert ["[…]" in step["text/plain"] for step in steps[:3]] == [False, False, True]


def test_whatever_comes_stays_below_the_limit(mode):
    svg = "<svg>" + "x" * 290_000 + "</svg>"
    huge = {"kind": "chart", "text": "é" * 200_000, "html": "<p>" + "y" * 400_000 + "</p>", "svg": svg}
    bundle = {"title": "t", "lead": "", "blocks": [huge], "page": "".join(chr(33 + i * i % 89) for i in range(900_000)), "cell": None}
    for name in ("interactive", "svg", "text"):
        mode(name)
        shown = show.mime_bundle(bundle)
        assert size(shown) < LIMIT and "to_html(path)" in shown["text/plain"]


def test_formulas_are_latex(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    formulas = [block for block in ty.lab("cnn-architectures", quick=True).blocks if block.kind == "formula"]
    shown = formulas[0]._repr_mimebundle_()
    assert shown["text/latex"].startswith("$$") and "= 55" in shown["text/plain"] and "<math" in shown["text/html"]


def test_pictures_with_boxes_are_shown(tmp_path):
    shown = ty.data("show", "shapes:64,size=8", samples=2, draws=2, output=tmp_path / "boxes.png")._repr_mimebundle_()
    assert 'src="data:image/png;base64,' in shown["text/html"]
    assert (tmp_path / "boxes.png").stat().st_size > 1000

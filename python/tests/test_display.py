# SPDX-License-Identifier: Apache-2.0
"""Tables of pandas, pictures of matplotlib, and both without these packages."""
import unittest
import xml.etree.ElementTree

import orthant

from support import QUIET, SMALL, TEXT, InFolder

try:
    import pandas
except ImportError:
    pandas = None
try:
    import matplotlib
except ImportError:
    matplotlib = None


class Recorder:
    """Axes that note what is drawn."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *arguments, **keywords: self.calls.append((name, *arguments))

    def of(self, name):
        return [call[1:] for call in self.calls if call[0] == name]


def judged():
    """Runs of three systems with differences of 2 and 2.5."""
    noise = (0.1, -0.1, 0.2, -0.2, 0.3, -0.3)
    return orthant.judge([{"system": s, "seed": i, "loss": at + sign * n}
                          for s, at, sign in (("a", 1, 1), ("b", 3, -1), ("c", 3.5, -1))
                          for i, n in enumerate(noise)], baseline="a")


class Displays(InFolder):
    def test_the_picture_has_the_differences_and_their_intervals(self):
        found, axes = judged(), Recorder()
        self.assertIs(found.plot(axes), axes)
        rows = {row["attention"]: row for row in found.rows}
        points = [call for call in axes.of("plot") if "o" in call]
        self.assertEqual(len(points), 2)
        for (x, place, _), difference in zip(sorted(points), (2, 2.5)):
            self.assertAlmostEqual(x, difference, 12)
            name = axes.of("set_yticks")[0][1][place]
            self.assertAlmostEqual(rows[name]["difference"], difference, 12)
            line = next(call for call in axes.of("plot")
                        if "o" not in call and call[1] == [place, place])
            self.assertEqual(line[0], [rows[name]["low"], rows[name]["high"]])
            self.assertTrue(line[0][0] < difference < line[0][1])

    def test_the_picture_of_the_report_is_svg(self):
        root = xml.etree.ElementTree.fromstring(judged().plot()._repr_svg_())
        self.assertTrue(root.tag.endswith("svg"))

    def test_tables_without_pandas_are_lists(self):
        found = judged()
        table = found.table if pandas is None else found.table.to_dict("records")
        self.assertEqual([row["attention"] for row in table], ["a", "b", "c"])
        self.assertEqual([row["verdict"] for row in table], ["baseline", "worse", "worse"])

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_tables_of_pandas(self):
        found = judged()
        frame = found.table.set_index("attention")
        self.assertAlmostEqual(frame.loc["c", "loss"], 3.5, 12)
        self.assertAlmostEqual(frame.loc["b", "difference"], 2, 12)
        runs = pandas.DataFrame({"system": list("aabb"), "seed": [0, 1, 0, 1],
                                 "loss": [1.0, 1.2, 2.0, 2.4]})
        self.assertAlmostEqual(orthant.judge(runs, baseline="a").rows[1]["difference"], 1.1, 12)
        run = orthant.train(TEXT, out="run", **SMALL, **QUIET)
        self.assertEqual(run.log["step"].max(), 20)

    @unittest.skipIf(matplotlib is None, "matplotlib is not installed")
    def test_axes_of_matplotlib(self):
        from matplotlib.figure import Figure
        axes = judged().plot(Figure().add_subplot())
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ["c", "b", "a"])
        xs = sorted(x for line in axes.get_lines() for x in line.get_xdata()
                    if line.get_marker() == "o")
        self.assertEqual([round(x, 9) for x in xs], [2, 2.5])


if __name__ == "__main__":
    unittest.main()

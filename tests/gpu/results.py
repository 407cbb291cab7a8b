"""Writes the results of gpu/run as a table and as JSON, again after each row."""
import json
import statistics

GOALS = {"eager": 1.5, "compiled": 1.0}


def fastest(row, wanted):
    """Returns the PyTorch variant of a kind with the smallest median."""
    variants = {name: turns for name, turns in row["torch"].items()
                if turns and name.startswith("compiled") == (wanted == "compiled")}
    return min(variants.items(), key=lambda item: statistics.median(item[1]), default=(None, None))


def ratio_cell(row, wanted):
    name, turns = fastest(row, wanted)
    if not name:
        return "not measured", "not measured"
    ratios = [theirs / ours for theirs, ours in zip(turns, row["held"])]
    good = "" if statistics.median(ratios) >= GOALS[wanted] else " MISSED"
    return (f"{statistics.median(turns):.3f} ({name})",
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}){good}")


def cells(row):
    held = statistics.median(row["held"])
    fed = statistics.median(time for time, _ in row["fed"])
    waits = [100 * share for _, share in row["fed"]]
    eager, eager_ratio = ratio_cell(row, "eager")
    compiled, compiled_ratio = ratio_cell(row, "compiled")
    return [row["network"], row["precision"], f"{held:.3f}", f"{1e3 * row['batch'] / held:.0f}",
            eager, eager_ratio, compiled, compiled_ratio,
            f"{statistics.median(row['loaded']):.3f}", f"{fed:.3f}",
            f"{statistics.median(waits):.2f}% ({min(waits):.2f} to {max(waits):.2f})"]


HEADER = ["network", "precision", "ours, ms a step", "images/s", "PyTorch eager, ms",
          "times as fast (goal 1.5)", "PyTorch compiled, ms", "times as fast (goal 1.0)",
          "ours with the batch's upload, ms", "fed by the pipeline on 4 cores, ms",
          "waits for input (goal under 2%)"]


class Report:
    def __init__(self, folder, facts):
        self._folder = folder
        self._results = {"machine": facts, "rows": [], "failures": []}

    def set(self, key, value):
        self._results[key] = value
        self.write()

    def add_row(self, row):
        self._results["rows"].append(row)
        print(" | ".join(cells(row)), flush=True)
        self.write()

    def add_failure(self, network, precision, failure):
        self._results["failures"].append(f"{network} {precision} FAILED: {failure}")
        print(self._results["failures"][-1], flush=True)
        self.write()

    def good(self):
        """Returns whether all tests have passed, and all networks were measured and trained
        alike."""
        return (not self._results["failures"] and "cut off" not in self._results
                and all(outcome == "passed" for outcome in self._results.get("tests", {}).values())
                and not any(row["disagrees"] for row in self._results["rows"]))

    def _text(self):
        lines = [f"{key}: {value}" for key, value in self._results["machine"].items()]
        lines.append(f"data: {self._results.get('data', 'none')}")
        lines += [f"test {name}: {outcome}"
                  for name, outcome in self._results.get("tests", {}).items()]
        if "cut off" in self._results:
            lines.append(f"CUT OFF {self._results['cut off']}")
        lines = [f"- {line}" for line in lines]
        if self._results["rows"]:
            lines += ["", "| " + " | ".join(HEADER) + " |", "| --- " * len(HEADER) + "|"]
            lines += ["| " + " | ".join(cells(row)) + " |" for row in self._results["rows"]]
        elif "alone" in self._results:  # the run was cut off before this row
            lines += ["", *(f"- {which}, ours alone: {one['held'][0]:.3f} ms a step, fed "
                            f"{one['fed'][0]:.3f} ms, {100 * one['fed'][1]:.2f}% waiting for input"
                            for which, one in self._results["alone"].items())]
        notes = [f"- {failure}" for failure in self._results["failures"]]
        notes += [f"- {row['network']} {row['precision']}, {variant}: {word} {why}"
                 for row in self._results["rows"]
                 for word, kind in (("failed:", "failed"), ("OTHER RESULTS THAN OURS:", "disagrees"))
                 for variant, why in row[kind].items()]
        if notes:
            lines += ["", *notes]
        if "cuda_bench" in self._results:
            lines += ["", "```", self._results["cuda_bench"].rstrip(), "```"]
        return "\n".join(lines) + "\n"

    def write(self):
        """Writes the files and returns the table."""
        text = self._text()
        (self._folder / "results.md").write_text(text, encoding="utf-8")
        (self._folder / "results.json").write_text(json.dumps(self._results, indent=1) + "\n",
                                                   encoding="utf-8")
        return text

"""What was measured, as Markdown to paste."""

import datetime
import statistics

GIGA = 1e9


def spread(values, digits):
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def row(cells):
    return f"| {' | '.join(cells)} |"


def head(run):
    """Where, when and with what, and how to read the tables."""
    date = datetime.date.fromisoformat(run["date"])
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    limits = run["limits"]
    read = limits["read_bytes_per_s"]
    lines = [
        f"{date.day} {date:%B %Y}, {run['processor']}, {run['threads']} threads; {versions}.",
        f"Tokens per second, median of {run['pairs']} turns (lowest to highest); a ratio is Lathe's "
        "speed over the other's in the same turn.",
        "The limit of decode is reading the weights and the filled part of the cache. What memory "
        "gives is measured in the same turn by the same threads, a plain read of one second (the "
        f"most that was seen before all turns: {read['all_threads'] / GIGA:.1f} GB/s, "
        f"{read['one_thread'] / GIGA:.1f} with one thread).",
    ]
    for products in limits["byte_products_per_s"]:
        if products["isa"] == run["isa"]:
            rates = products["from_registers"]
            lines.append(
                f"The limit of a prompt is multiplying: {rates['all_threads'] / GIGA:.0f} billion "
                f"products of two bytes ({products['instruction']}; "
                f"{rates['one_thread'] / GIGA:.0f} with one thread), two for each 16-bit activation "
                "times weight.")
    return "\n".join(lines + [f"{note}." for note in run["notes"]])


def share(speeds, measure):
    """Of the limit: within each turn for decode, whose limit is measured in turns too."""
    if measure["read_bytes_per_s"]:
        shares = [100 * measure["bytes_per_token"] * speed / rate
                  for speed, rate in zip(speeds, measure["read_bytes_per_s"]) if rate]
        return f"{spread(shares, 0)} %" if shares else ""
    limit = measure["limit_tokens_per_s"]
    return f"{100 * statistics.median(speeds) / limit:.0f} %" if limit else ""


def table(entry):
    """One model in one format, from the entry of the raw figures."""
    programs = entry["programs"]
    ours, *peers = programs
    columns = ["", programs[ours]["label"], "of the limit"]
    for peer in peers:
        columns += [programs[peer]["label"], "ratio"]
    lines = [f"#### {entry['model']}, {entry['format']}", "", row(columns),
             row(["---"] * len(columns))]
    sizes = ["bytes per weight", f"{programs[ours]['bytes'] / entry['weights']:.2f}", ""]
    for peer in peers:
        sizes += [f"{programs[peer]['bytes'] / entry['weights']:.2f}", ""]
    lines.append(row(sizes))
    for measure in entry["measures"]:
        speeds = measure["tokens_per_s"]
        cells = [measure["name"], spread(speeds[ours], 1),
                 share(speeds[ours], measure)]
        for peer in peers:
            ratios = [mine / other for mine, other in zip(speeds[ours], speeds[peer])]
            cells += [spread(speeds[peer], 1), spread(ratios, 2)]
        lines.append(row(cells))
    return "\n".join(lines)

"""Draws the ratios of two platforms as an SVG: one pair of bars per case on a logarithmic axis."""
import html
import math

LEFT, WIDTH, ROW, TOP = 150, 620, 26, 64
CPU, WALL = "#2b6cb0", "#a9c7e8"


def ratios(bars):
    """`bars`: (name, ratio of CPU time, ratio of wall time); below 1 the first platform is faster."""
    values = [value for _, cpu, wall in bars for value in (cpu, wall)]
    low = 10 ** math.floor(math.log10(min(values + [0.1])))
    high = 10 ** math.ceil(math.log10(max(values + [2])))

    def x(value):
        return LEFT + WIDTH * math.log(value / low) / math.log(high / low)

    height = TOP + ROW * len(bars) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 90}" height="{height}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="10" y="20" font-size="15">Time of Morgana over time of PoCL (left of 1: Morgana is faster)</text>',
           f'<rect x="10" y="30" width="12" height="10" fill="{CPU}"/><text x="26" y="39">processor time</text>',
           f'<rect x="130" y="30" width="12" height="10" fill="{WALL}"/><text x="146" y="39">wall time</text>']
    decade = low
    while decade <= high * 1.001:
        for factor in (1, 2, 5):
            tick = decade * factor
            if tick > high * 1.001:
                break
            strong = abs(tick - 1) < 1e-9
            out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" y2="{height - 24}" '
                       f'stroke="{"#222" if strong else "#ddd"}"/>')
            out.append(f'<text x="{x(tick):.1f}" y="{height - 8}" text-anchor="middle" fill="#555">{tick:g}</text>')
        decade *= 10
    for row, (name, cpu, wall) in enumerate(bars):
        y = TOP + ROW * row
        out.append(f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{html.escape(name)}</text>')
        for offset, value, colour in ((2, cpu, CPU), (11, wall, WALL)):
            start, end = sorted((x(1), x(value)))
            out.append(f'<rect x="{start:.1f}" y="{y + offset}" width="{max(end - start, 1):.1f}" height="9" fill="{colour}"/>')
        out.append(f'<text x="{max(x(1), x(cpu), x(wall)) + 5:.1f}" y="{y + 14}">{cpu:.2f}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"

#!/usr/bin/env python3
"""Draws strait.png, the picture that the stencil sample sharpens: a coast with the mirage after which
Morgana is named, floating upside down over the sea. Needs NumPy and Pillow. Usage: strait.py OUT.png
"""
import sys

import numpy as np
from PIL import Image

WIDTH, HEIGHT, HORIZON = 640, 420, 250


def ridge(seed, height, roughness, base):
    """A mountain outline: octaves of smooth noise."""
    rng = np.random.default_rng(seed)
    x = np.arange(WIDTH)
    line = np.full(WIDTH, float(base))
    for octave in range(7):
        knots = rng.standard_normal(4 * 2**octave + 2)
        t = x / WIDTH * (len(knots) - 1.001)
        i, f = t.astype(int), t % 1
        f = f * f * (3 - 2 * f)
        line += height * roughness**octave * (knots[i] * (1 - f) + knots[i + 1] * f)
    return line


def main():
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    sky = np.stack([150 + 90 * (y / HORIZON), 175 + 45 * (y / HORIZON), 215 - 5 * (y / HORIZON)], axis=-1)
    sun = np.exp(-((x - 470) ** 2 + (y - 150) ** 2) / 900)
    picture = sky + sun[..., None] * np.array([90, 70, 20])
    rng = np.random.default_rng(5)
    grain = rng.standard_normal((HEIGHT, WIDTH, 1))
    for seed, height, base, colour in ((3, 16, 62, (150, 160, 185)), (8, 14, 40, (112, 122, 142)), (21, 11, 20, (70, 84, 84))):
        top = HORIZON - np.maximum(ridge(seed, height, 0.52, base), 0)
        shade = 1 + 0.10 * np.sin(x / 3 + y / 2) * (y % 7 < 4)
        mask = (y >= top) & (y < HORIZON)
        picture = np.where(mask[..., None], np.array(colour) * shade[..., None], picture)
        if seed == 8:  # the mirage: the same coast, mirrored above a band of bright air
            mirage = (y > 128) & (y < 128 + np.maximum(ridge(seed, height, 0.52, base), 0) * 0.7)
            picture = np.where(mirage[..., None], picture * 0.45 + np.array(colour) * 0.55, picture)
    depth = np.clip((y - HORIZON) / (HEIGHT - HORIZON), 0, 1)
    waves = np.sin(x / (2 + 9 * depth) + 9 * np.sin(y / (3 + 10 * depth))) * np.sin(y * 1.7 / (0.6 + 4 * depth))
    sea = np.stack([95 - 55 * depth, 130 - 50 * depth, 160 - 45 * depth], axis=-1) + 12 * waves[..., None]
    glitter = np.exp(-((x - 470) / (14 + 60 * depth)) ** 2) * (waves > 0.5)
    sea += glitter[..., None] * np.array([90, 80, 50])
    picture = np.where((y >= HORIZON)[..., None], sea, picture)
    hull = (np.abs(x - 180) < 26 - (y - 318) * 0.8) & (y > 318) & (y < 330)
    mast = (np.abs(x - 178) < 1.2) & (y > 262) & (y <= 318)
    sail = (x > 180) & (x < 180 + (y - 264) * 0.42) & (y > 266) & (y < 312)
    for mask, colour in ((hull, (60, 36, 26)), (mast, (70, 50, 40)), (sail, (238, 228, 205))):
        picture = np.where(mask[..., None], np.array(colour), picture)
    picture = np.clip(picture + 2.0 * grain, 0, 255).astype(np.uint8)
    Image.fromarray(picture).save(sys.argv[1], optimize=True)


if __name__ == "__main__":
    main()

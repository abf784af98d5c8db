#!/usr/bin/env python3
"""Writes houses.csv and flowers.csv beside this script: small tables in the manner of the UCI collection.

houses.csv has numbers, categories, missing values, a constant column and one of names; the price is a curved function of
the others with noise. flowers.csv has three kinds of flowers, semicolons between cells and no row with all cells missing.
"""
import csv
import math
import random
from pathlib import Path

HERE = Path(__file__).parent


def houses(rows=240):
    draw = random.Random(1)
    factor = {"north": 1.25, "south": 0.8, "east": 1.0, "west, by the river": 1.5}
    with open(HERE / "houses.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["name", "area", "rooms", "age", "district", "heating", "country", "price"])
        for i in range(rows):
            area = round(draw.uniform(40, 220), 1)
            rooms = max(1, round(area / 30 + draw.uniform(-1, 1)))
            age = draw.randint(0, 90)
            district = draw.choice(sorted(factor))
            heating = draw.choice(["gas", "oil", "wood"])
            price = 2.1 * area * factor[district] + 9 * rooms - 60 * math.tanh(age / 30) + draw.gauss(0, 8)
            shown_age = "NA" if i % 11 == 3 else age
            shown_heating = "" if i % 17 == 5 else heating
            out.writerow([f"house {i}", area, rooms, shown_age, district, shown_heating, "nowhere", f"{price:.2f}"])


def flowers(rows=150):
    draw = random.Random(2)
    centers = {"aster": (5.0, 3.4, 1.5), "bellis": (5.9, 2.8, 4.2), "crocus": (6.6, 3.0, 5.5)}
    with open(HERE / "flowers.csv", "w", newline="") as file:
        out = csv.writer(file, delimiter=";", lineterminator="\n")
        out.writerow(["length", "width", "petal", "kind"])
        for i in range(rows):
            kind = sorted(centers)[i // (rows // 3)]
            out.writerow([f"{draw.gauss(center, 0.35):.1f}" for center in centers[kind]] + [kind])


houses()
flowers()

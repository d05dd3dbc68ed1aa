"""Captions of the figures and tables: a paragraph each, by paper."""

from __future__ import annotations

from typing import Final

# martin
SHAPES: Final = (
    "Left: a claim centred at 80 kg of a thing of 100 kg, wider and wider; it reaches the thing"
    " at 40 kg. The interval score rewards that at once and then charges for width; the CRPS is"
    " least at √12 times the error, 69 kg; the quadratic score falls by 2/width at the "
    "reference and then forgets the error altogether. Right: a claim 40 kg wide, moved past the"
    " reference. Outside the interval score rises by 2/alpha = 20 a kilogram and the CRPS by 1;"
    " inside only the CRPS still tells the middle from the ends."
)
NORM_SCORE: Final = (
    "Left (a): the same error of 20 kg. The score is least where the stated variance is the "
    "error squared, and has no end towards variance 0: one reading of a tiny u rules a mean, so"
    " medians and trimmed means stand beside it. A 90 % interval of 40 kg says 148 kg². Right "
    "(b): that variance, the value moved past the reference; a parabola, defined everywhere, "
    "that charges a blunder by its square."
)
ONE_EVENT: Final = (
    "One simulated animal, eight estimators: what they stated, and the three scores for it. Blue "
    "intervals hold the reference, red ones do not. E is method E of the paper: mean and standard "
    "deviation of the forces above 50 kg, said to be a 90 % interval. `/events/{key}` shows the "
    "same of your sensors."
)
TOGETHER: Final = (
    "The paper calls the scores clearly correlated. Those of interval score and CRPS are; with "
    "the quadratic score only the ranks go together, and the line tells little."
)
SIMULATED: Final = (
    "Means over the same 400 crossings, with the line through them. On the left, a sensor that is "
    "far off scores badly on both. On the right, the over-confident one stands out, although the "
    "CRPS puts it in the middle: the quadratic score asks first whether the uncertainty is right."
)

# navratil
CURVES: Final = (
    "Top: each error was drawn from the u that is stated with it. Bottom: the same errors and "
    "the same u in another order. Dashed is one constant width for all. Where few misses are "
    "wanted the informative one is narrower than the constant one; the shuffled one is wider "
    "everywhere, and its information is below 0. k = 1 is as stated, k* costs least."
)
WIDTH_SAVED: Final = (
    "Width saved compares the bands with one constant band at the same miss rate, as the "
    "paper's section 2.2 does for its two examples (36 % saved, 53 % lost)."
)
AREAS: Final = (
    "The area of bandwidth and miss rate is the exact one under the step curve; the partial "
    "gain is that over miss rates of 0 to 0.5. The area of excess and deficit goes from k = 0."
)
NOTEBOOK: Final = (
    "Here the areas are the program's: a trapezoid from the least critical scale on, and excess"
    " to the end on the reference's side. Its miss rates are up to 1/N off."
)
COSTS: Final = (
    "Bandwidth, excess and deficit in units of the references' standard deviation (of the "
    "errors' where the references are all the same). G is what is saved on a constant band of "
    "the same mean width at k = 1, and at its own best scale. `--cost` sets c."
)
MAE: Final = (
    "MAE(k) is excess plus deficit, twice the cost with c = 0.5. Solid blue is the honest "
    "uncertainty, dashed the constant one, thin the others."
)

# pernot
TABLE_2_NOTE: Final = (
    "BCa of {replicates} replicates, seed {seed}, and ABC. The bias is that of the bootstrap, "
    "b_BS: a mean over the replicates less the estimate; it must be small beside the interval's"
    " width. The verdict is that of ABC."
)
ZETAS: Final = (
    "Within 1 on both axes both statistics call the uncertainty right on average; above or "
    "right of the lines they disagree or both reject."
)
GENERATED: Final = (
    "Two sets are generated, of 2000 pairs: heavy u is calibrated, its u² from an inverse gamma "
    "(3/2, 3/2); even u states the root of the u that errors were drawn from, too much where it "
    "is small and too little where it is large. From beta_GM 0.4 on RCE cannot be relied on (B-20)."
)
DECIMATION: Final = (
    "An estimate that leaves its own interval when a few per cent of the pairs are removed "
    "depends on those pairs. The paper: RCE of sets 3, 4 and 7 does, ZMS of none."
)
SCALING: Final = (
    "One factor is √ZMS and makes u right on average; ten factors, one for each tenth of u, "
    "also where u is small and where it is large. More bins than the pairs can carry fit their "
    "chance, which the other half shows."
)

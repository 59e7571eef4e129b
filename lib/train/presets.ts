/** The run configurations of configs/, by name. @module */
import base20m from "../../configs/20m.json" with { type: "json" };
import base300m from "../../configs/300m.json" with { type: "json" };
import campaign from "../../configs/campaign.json" with { type: "json" };
import demo from "../../configs/demo.json" with { type: "json" };
import full680m from "../../configs/full-680m.json" with { type: "json" };
import plan100m from "../../configs/plan-100m.json" with { type: "json" };
import small95m from "../../configs/small-95m.json" with { type: "json" };
import synth20min from "../../configs/synth-20min.json" with { type: "json" };

/** Preset name -> its configuration as parsed from JSON. */
export const PRESETS: ReadonlyMap<string, Record<string, unknown>> = new Map<string, Record<string, unknown>>(
  [
    ["demo", demo],
    ["synth-20min", synth20min],
    ["campaign", campaign],
    ["20m", base20m],
    ["small-95m", small95m],
    ["plan-100m", plan100m],
    ["300m", base300m],
    ["full-680m", full680m],
  ],
);

/** The "About the model" part of the page: what the model is, its training, and its accuracy. @module */
import { useMemo } from "preact/hooks";
import type { ModelAnswer } from "../api/schemas.ts";
import { AnswerState } from "./answer_state.tsx";
import { axisStyle, Chart, type ChartPlan, PLAIN } from "./chart.tsx";
import { ScrolledTable } from "./table.tsx";
import { formatCount, formatMs } from "../../base/text.ts";
import type { PartProps } from "./fields.tsx";

const CURVE_HEIGHT_PX = 260;

export function ModelPart({ opened: { hasServer }, model: answer }: PartProps) {
  return (
    <AnswerState
      answer={answer}
      doing="Reading the model"
      summary={({ step }) => `The model at step ${step}.`}
    >
      {(model) => (
        <>
          <Facts rows={factsOf(model)} />
          <Evaluation evaluation={model.evaluation} />
          <TrainingCurve curve={model.training_curve} />
          <section aria-labelledby="config">
            <h2 id="config">Configuration</h2>
            <Facts
              rows={[["Weights, SHA-256", model.model_sha256], ["Data, fingerprint", model.data_fingerprint]]}
            />
            {Object.entries(model.config).map(([name, value]) => (
              <details key={name}>
                <summary>{name}</summary>
                <pre tabIndex={0} aria-label={`Configuration ${name}`}>{JSON.stringify(value, null, 2)}</pre>
              </details>
            ))}
          </section>
          {hasServer && (
            <p>
              Programs use <a href="docs">the HTTP API</a>, which is also described by{" "}
              <a href="openapi.json">openapi.json</a>.
            </p>
          )}
          <p>
            <a href="licenses.txt">Licences</a> of this page and what it contains.
          </p>
        </>
      )}
    </AnswerState>
  );
}

function factsOf(model: ModelAnswer): [string, string][] {
  const { step, num_parameters, vocabulary, adapter, version, is_calibrated, trained_tokens } = model;
  const { evaluation } = model;
  const measurements = evaluation ? ` of ${formatCount(evaluation.num_training)} measurements` : "";
  return [
    ["Trained on", `${formatCount(trained_tokens)} tokens${measurements}`],
    ["Parameters", formatCount(num_parameters)],
    ["Calibrated", is_calibrated ? "yes, on the validation split" : "no"],
    ["Runs on", adapter],
    ["Step", String(step)],
    ["Vocabulary", vocabulary],
    ["Program", `ping-llm ${version}`],
  ];
}

function Facts({ rows }: { rows: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name} class={value.length > 40 ? "wide" : ""}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

type CurvePoints = ModelAnswer["training_curve"];

function TrainingCurve({ curve }: { curve: CurvePoints }) {
  const plan = useMemo(() => planOf(curve), [curve]);
  const evaluated = curve.filter(({ eval_loss }) => eval_loss !== null);
  const [first, last] = [evaluated[0], evaluated[evaluated.length - 1]];
  const label = last
    ? `Validation loss from ${first.eval_loss?.toFixed(2)} at step ${first.step} to ${
      last.eval_loss?.toFixed(2)
    } ` +
      `at step ${last.step}.`
    : "The run has no validation loss.";
  return (
    <section aria-labelledby="training">
      <h2 id="training">Training</h2>
      {curve.length === 0 ? <p>The run has no metrics.</p> : (
        <>
          <figure>
            <figcaption>
              Bits per token by step: <span class="key line">training</span>,{" "}
              <span class="key points">validation (with points)</span>.
            </figcaption>
            <Chart label={`Training curve. ${label}`} heightPx={CURVE_HEIGHT_PX} plan={plan} />
          </figure>
          <details>
            <summary>Validation losses as a table</summary>
            <ScrolledTable
              name="Validation losses"
              class="numbers"
              columns={["Step", "Bits per token"]}
              rows={evaluated.map(({ step, eval_loss }) => [String(step), (eval_loss ?? NaN).toFixed(4)])}
            />
          </details>
        </>
      )}
    </section>
  );
}

function planOf(curve: CurvePoints): ChartPlan {
  return {
    data: [
      curve.map(({ step }) => step),
      curve.map(({ train_loss }) => train_loss),
      curve.map(({ eval_loss }) => eval_loss),
    ],
    readout: (index) => {
      const { step, train_loss, eval_loss } = curve[index];
      const losses = [["training", train_loss], ["validation", eval_loss]] as const;
      const texts = losses.flatMap(([name, loss]) => loss === null ? [] : `${name} ${loss.toFixed(3)}`);
      return `step ${step}: ${texts.join(", ")}`;
    },
    options: (colors) => ({
      scales: { x: { time: false } },
      ...PLAIN,
      series: [
        {},
        { stroke: colors.faint, width: 1.5, spanGaps: true, points: { show: false } },
        {
          stroke: colors.accent,
          width: 2,
          spanGaps: true,
          points: { show: true, size: 6, stroke: colors.accent, fill: colors.paper },
        },
      ],
      axes: [axisStyle(colors, "below"), axisStyle(colors, "left")],
    }),
  };
}

function Evaluation({ evaluation }: { evaluation: ModelAnswer["evaluation"] }) {
  return (
    <section aria-labelledby="evaluation">
      <h2 id="evaluation">Evaluation</h2>
      {evaluation === null ? <p>The run has no evaluation; run deno task eval.</p> : (
        <>
          <p>
            Errors in predicting {formatCount(evaluation.num_measurements)} measurements of the{" "}
            {evaluation.split} split; smaller is better. CRPS judges the whole distribution.
          </p>
          <ScrolledTable
            name="Errors of the methods"
            class="numbers methods"
            columns={["Method", "Median error", "Mean error", "CRPS"]}
            rows={evaluation.methods.map((method) => [
              method.name,
              formatMs(method.median_absolute_ms),
              formatMs(method.mean_absolute_ms),
              method.crps_ms === null ? "–" : formatMs(method.crps_ms),
            ])}
          />
        </>
      )}
    </section>
  );
}

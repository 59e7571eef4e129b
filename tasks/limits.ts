/** Parses the limits of `watch`: `--above` and `--loss-above`. @module */
import { shortened, UsageError } from "../lib/base/errors.ts";
import { parseDurationS } from "../lib/cli/options.ts";
import type { AddressNames } from "../lib/data/addresses/address_names.ts";
import { addressBytes } from "../lib/data/addresses/ip.ts";
import { faultOfPrefix, parsePrefix, prefixContains } from "../lib/data/addresses/ip_prefix.ts";
import type { Limit } from "../lib/query/changes/limits.ts";

const QUANTITIES = {
  above: { quantity: "rtt", what: "median RTT", example: "100ms/5m", units: { ms: 1, s: 1000 } },
  lossAbove: { quantity: "loss", what: "losses", example: "5%/15m", units: { "%": 0.01 } },
} as const;

/** @throws {UsageError} If a limit is invalid, or names an unknown address. */
export function parseLimits(
  options: Record<keyof typeof QUANTITIES, readonly string[]>,
  names: AddressNames,
): Limit[] {
  return (["above", "lossAbove"] as const).flatMap((name) =>
    options[name].map((text) => limitOf(name, text, names))
  );
}

function limitOf(name: keyof typeof QUANTITIES, text: string, names: AddressNames): Limit {
  const option = name === "above" ? "above" : "loss-above";
  const { quantity, what, example, units } = QUANTITIES[name];
  const [, place, number, unit, time] = /^(?:(.*)=)?(\d+(?:\.\d+)?)(ms|s|%)\/(.+)$/.exec(text) ?? [];
  const value = Number(number) * ((units as Record<string, number>)[unit] ?? NaN);
  if (!(value >= 0) || quantity === "loss" && value >= 1) {
    throw new UsageError(
      `Cannot use --${option} ${
        shortened(text)
      }: expected a value and a time such as ${example}, or hq=${example} ` +
        "for the pairs of an address, a prefix or a name",
    );
  }
  return {
    text: `${what} above ${number} ${unit} for ${time}`,
    quantity,
    value,
    withinS: parseDurationS(time, option),
    isFor: place === undefined ? undefined : selectorOf(option, place, names),
  };
}

function selectorOf(option: string, place: string, names: AddressNames): (address: string) => boolean {
  if (faultOfPrefix(place) === undefined) {
    const prefix = parsePrefix(place);
    return (address) => prefixContains(prefix, addressBytes(address));
  }
  const wanted = place.toLowerCase();
  if (Array.from(names.entries()).some(([, name]) => name.toLowerCase() === wanted)) {
    return (address) => names.of(address)?.toLowerCase() === wanted;
  }
  throw new UsageError(
    `Cannot use --${option} ${
      shortened(place)
    }=…: it is not an address, a prefix or a name in a file of --names`,
  );
}

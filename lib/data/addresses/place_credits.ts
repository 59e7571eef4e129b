/**
 * Credits for the place files that answers rely on, as their licences require.
 *
 * @module
 */

/** A text to show and its link. */
export interface PlaceCredit {
  readonly text: string;
  readonly url: string;
}

/** Credits by how the file's name, without its folder, begins. */
const CREDITS: readonly (readonly [start: RegExp, credit: PlaceCredit])[] = [
  [/^dbip/i, { text: "IP geolocation by DB-IP (CC BY 4.0)", url: "https://db-ip.com" }],
  [/^asn-ipv/i, {
    text: "ASes by RouteViews, DB-IP and NRO, from ip-location-db (CC BY 4.0)",
    url: "https://github.com/sapics/ip-location-db",
  }],
  [/^geolite/i, { text: "GeoLite data by MaxMind", url: "https://www.maxmind.com" }],
  [/^ipinfo/i, { text: "IP address data by IPinfo", url: "https://ipinfo.io" }],
];

/** Returns each credit once. @param sources Names of place files. */
export function placeCredits(sources: readonly string[]): PlaceCredit[] {
  return CREDITS.filter(([start]) => sources.some((name) => start.test(name))).map(([, credit]) => credit);
}

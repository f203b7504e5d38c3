// What server and page say to each other: names for `tsc`, no code.

/** @typedef {"accept" | "keep" | "label" | "skip" | "drop"} Verdict */

/** @typedef {{ verdict: Verdict, label?: string }} Choice what somebody is about to decide */

/**
 * @typedef {object} Decision
 * @property {number} act
 * @property {Verdict} verdict
 * @property {string | null} label
 * @property {string} who
 * @property {string} at
 * @property {string | null} note
 * @property {true} [hidden] somebody else decided, and only the number of the act is told before an own answer
 */

/**
 * @typedef {object} Brief what the list shows of an issue
 * @property {number} row
 * @property {string | null} id
 * @property {string | null} given
 * @property {string} suggested
 * @property {number} probability of the suggestion; with that of the given label and others it adds up to 1
 * @property {[label: string, probability: number] | null} next the runner-up
 * @property {boolean} flagged whether the run would change the label
 * @property {number | null} expected what the bar shows and "worst" sorts by: how probable it is that the given label is wrong; null if none was given
 * @property {Decision | null} decision
 * @property {{ column: string, excerpt: string }[]} preview
 */

/** @typedef {{ name: string, separation: number, used: boolean, long: boolean }} Column */

/** @typedef {[start: number, end: number, side: "for" | "against", strength: number]} Mark a word of a text */

/** @typedef {Record<string, Mark[]>} Marks of each column */

/** @typedef {{ row: number, label: string, values: string[], marks: Marks, apart: Record<string, number> }} Witness how far its numbers are above those of the issue, in standard deviations */

/** @typedef {[low: number, middle: number, high: number]} Range one in ten values of a class is below, half, nine in ten */

/** @typedef {{ own?: number | null, low: number, high: number, ranges: Range[], shares?: undefined } | { shares: number[] }} Place where a value lies among those of the suggested class, and of the given one (or all others) */

/** @typedef {{ row: number, label: string, weight: number }} Carrier a label, and the share of the margin that is lost if it is wrong */

/**
 * @typedef {object} Details
 * @property {string | null} reason
 * @property {number | null} withstands
 * @property {Column[]} columns
 * @property {string[]} values
 * @property {Marks} marks
 * @property {Witness[]} supporting
 * @property {Witness[]} opposing
 * @property {Decision[]} history
 * @property {Record<string, Place>} places by column, if there are no rows to compare with
 * @property {number} [seen] the last act that was known when the person opened this row
 * @property {Carrier[] | null} carriers of the suggestion, if a second judge agrees with it
 * @property {number | null} flips labels that would have to be wrong for its verdict to turn
 */

/** @typedef {Brief & Details} Issue */

/**
 * @typedef {object} Counts
 * @property {number} issues
 * @property {number} decided
 * @property {number} skipped
 * @property {number} dropped
 * @property {number} disputed
 * @property {number} open
 * @property {number} judged
 * @property {number} accepted
 * @property {number | null} low
 * @property {number | null} high
 * @property {{ people: string[], both: number, same: number } | null} agreement
 */

/** @typedef {Counts & { last: number, rows: number[] }} News */

/**
 * @typedef {object} Meta what stays the same while the page is open
 * @property {string} title
 * @property {string} label
 * @property {string[]} classes
 * @property {string[]} keys
 * @property {string[]} marks a letter of each class
 * @property {string[]} columns
 * @property {string[]} people
 * @property {string[]} words
 * @property {string} folder
 * @property {Record<string, "image" | "audio">} media columns that name pictures or sounds
 * @property {string[]} hosts on the web from which they may come
 */

/** @typedef {Record<"search" | "status" | "given" | "suggested" | "low" | "high" | "column" | "value" | "who" | "verdict" | "note" | "sort", string>} Filter */

export {};

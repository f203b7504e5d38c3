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
 */

/**
 * @typedef {object} Brief what the list shows of an issue
 * @property {number} row
 * @property {string | null} id
 * @property {string | null} given
 * @property {string} suggested
 * @property {number} confidence in the suggestion
 * @property {boolean} flagged whether the run would change the label
 * @property {number | null} expected what the bar shows and "worst" sorts by: how likely the given label is wrong; null if none was given
 * @property {Decision | null} decision
 * @property {{ column: string, excerpt: string }[]} preview
 */

/** @typedef {{ name: string, separation: number, used: boolean, long: boolean }} Column */

/** @typedef {[start: number, end: number, side: "for" | "against", strength: number]} Mark a word of a text */

/** @typedef {Record<string, Mark[]>} Marks of each column */

/** @typedef {{ row: number, label: string, values: string[], marks: Marks }} Witness */

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
 * @property {boolean} is_parts
 */

/** @typedef {Record<"search" | "status" | "given" | "suggested" | "low" | "high" | "column" | "value" | "who" | "verdict" | "note" | "sort", string>} Filter */

export {};

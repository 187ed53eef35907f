// Package merchant is the registry of merchants: where each is told, with which
// keys, by which schedule and rule, and how fast. It keeps them in a store as
// documents, one a merchant, and a bounded number of them in memory; whoever
// makes an attempt asks for the merchant as it stands then.
//
// Secrets are sealed before they are written, and opened where they sign. How a
// request is signed, sent and judged is for others.
package merchant

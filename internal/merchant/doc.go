// Package merchant is the registry of merchants: their addresses, secrets, schedules, rules and
// limits. Each merchant is one document in the store, and a bounded number of merchants is cached
// in memory. Every attempt uses the merchant as it is at that moment.
//
// Secrets are sealed (encrypted) before they are written, and opened only to sign. Other packages
// sign, send and judge requests.
package merchant

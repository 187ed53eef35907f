// Package account is the registry of accounts at payment channels: whose they are, their sealed
// keys and their rates. Each account is one document in the store, and a bounded number of them is
// ready in memory.
package account

// Package deploy holds what bellman is installed and watched with: units, packages,
// images, manifests, alerts. It is tests alone: that all of it fits the program as it
// is. What the schemas of others say of it is in check, a module of its own, and
// what takes minutes is run by make dist-test.
package deploy

// Package deploy has the files for installing and watching bellman: units, packages, images,
// manifests, alerts. It consists of tests alone, which check that the files fit the program.
// Package check, a module of its own, compares them with schemas of others. make dist-test runs the
// tests that take minutes.
package deploy

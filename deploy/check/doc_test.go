// Package check holds what is deployed against the schemas of those who read it:
// Kubernetes' own types, and CycloneDX's schema. It is a module of its own, so that
// bellman depends on neither; make dist-test runs it.
package check

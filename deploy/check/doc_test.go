// Package check compares the files for deployment with schemas of others: the types of Kubernetes,
// and the schema of CycloneDX. It is a module of its own, so that bellman depends on neither; make
// dist-test runs it.
package check

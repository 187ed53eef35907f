// Package attention lists what needs a person now: endpoints, merchants and queues in trouble,
// orders without a decision, differences of the bill, nodes, certificates. What affects most money
// comes first.
//
// The thresholds are those of package alarm. The package reads figures that the engines have in
// memory, and a bounded number of rows of the store. It sends nothing and changes nothing.
package attention

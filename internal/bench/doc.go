// Package bench measures bellman on this machine: how fast tasks are accepted and delivered, how
// late they are, what waiting tasks cost, and the same for orders, which are polled at a simulated
// payment channel.
//
// The server under test is a process of its own: the program that calls [Run] starts itself again,
// so it must call [Child] first in main. Receiver, channel and load generator share the machine
// with it. Figures depend on the machine, so throughputs are compared with raw: a bare loop that
// posts the same body to the same receiver and stores nothing, measured before and after.
//
// Every scenario also checks bellman's promises: nothing lost, nothing twice, nothing early.
// Violations are in [Report.Failures].
package bench

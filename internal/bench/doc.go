// Package bench measures this machine and the embedded store: how fast tasks
// are accepted and delivered, how late they are, and what waiting ones cost; and
// the same of orders, which are asked about at a pretend payment channel.
//
// The server under test is a process of its own: the program that calls [Run]
// starts itself again, so it must call [Child] first thing in main. Receiver, channel
// and load share the machine with it. What a figure means depends on the
// machine, so the throughputs stand beside raw: a bare loop that posts the same
// body to the same receiver and keeps nothing, measured before and after.
//
// Every scenario also checks what bellman promises: nothing lost, nothing
// twice, nothing early. What it finds is in [Report.Failures].
package bench

// Package sender makes the attempts that go to brokers: one attempt is one message,
// published and confirmed. It reads where a task goes, builds the message, and says
// what follows from the broker's answer. How a broker is spoken to is for package
// rabbitmq and package nats; what goes elsewhere is for another handler, which it is
// put before.
package sender

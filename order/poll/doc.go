// Package poll queries a payment channel about a refund, a transfer or a profit sharing until the
// channel says how it ended, and then notifies the merchant. There is no close: an answer that does
// not say how it ended decides nothing, and neither does the end of the schedule, which raises an
// alert and makes the queries rarer.
//
// A [Handler] is a [bellman.Handler]: one attempt is one query or one request. The request of the
// caller is an [Ask] in the task's Body, the progress a [Life] in the task's Data.
//
// # Requests
//
// A queue may also ask for the refund ([Rules.Request]). The request is announced in the task's
// Data before it is sent, so that a crash leaves a trace of it. It is sent under one number for the
// whole life of the task. After an answer that does not say what became of it, and after a crash,
// the handler queries that number. It sends the same request again, under the same number, only if
// all of this holds:
//
//   - the channel says explicitly that it knows no such refund,
//   - this query began [RequestGap] or more after the last request may have been sent; the gap
//     doubles with each request, up to 6 hours,
//   - the first request is less than [RequestFor] ago. A channel may forget a number after that.
package poll

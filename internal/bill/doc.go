// Package bill reads the bills of payment channels and compares them with what bellman decided.
//
// # Readers
//
// [ReadWeChatTrade], [ReadWeChatFundFlow], [ReadAlipay] and [ReadCSV] yield a bill as a sequence of
// [Line]. They hold one line in memory. A bill states its own totals; a reader yields an error if the
// lines do not add up to them, or if the bill ends without them. The error is the last thing that a
// reader yields. A caller must therefore read a whole bill before it acts on any line; [Compare] does.
//
// # Comparison
//
// [Compare] writes lines and decided orders as records into one sorted spool and reads it back in the
// order of the channel's order numbers. All records of one order come together, whatever the order of
// the input was, and are judged together. The spool is a buffer of fixed size and, beyond it, one
// temporary file: memory does not grow with the bill.
//
// The bill and the orders seldom cover the same time exactly. These rules prevent false reports:
//
//   - A line whose order is not in the sequence is looked up with [Options.Find]. Only an order that
//     is not found is missing here. The caller can pass the orders that were paid in the bill's
//     period, and no others.
//   - An order belongs to the period that contains its PaidAt. If it is not in the bill, it is missing
//     there. Orders of other periods are only compared with lines that name them. As periods do not
//     overlap, an order is reported by one comparison at most.
//   - Around the border of two periods the clocks of the channel's systems may disagree. A missing
//     order that was paid within [Options.Edge] of a border is reported with [Difference.Edge] set:
//     it may be in the neighbouring bill, and a query settles it.
//   - With [Options.Before], the bill of the period before, a series of daily comparisons reports
//     nothing false at the border either. Each comparison leaves the missing orders of its last Edge
//     to the next one, which looks for them in both bills. The periods of responsibility still do not
//     overlap: they are moved back by Edge.
//   - A refund is a difference only by its own number. WeChat Pay may list a refund that is PROCESSING
//     on the day it was accepted and again when it ended: two lines with different states are one
//     refund.
//   - A bill whose lines are all outside the period is the wrong file, and an error.
//
// The package imports no store and no configuration. Its callers say where orders come from and where
// differences go.
package bill

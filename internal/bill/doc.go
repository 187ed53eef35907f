// Package bill reads the bills of payment channels and compares them with what bellman decided.
//
// # Readers
//
// [ReadWeChatTrade], [ReadWeChatFundFlow], [ReadAlipay] and [ReadCSV] yield a bill as a sequence of
// [Line]. They hold one line in memory. A bill states its own totals; a reader yields an error if
// the lines do not add up to them, or if the bill ends without them. The error is the last thing
// that a reader yields. A caller must therefore read a whole bill before it acts on any line;
// [Compare] does.
//
// # Comparison
//
// [Compare] writes lines and decided orders as records into one spool, which sorts them by the
// channel's order number. All records of one order come back together and are judged together,
// whatever the order of the input was. The spool is a buffer of fixed size and, beyond it, one
// temporary file. Memory therefore does not grow with the bill; ten thousand records of one order
// are an error.
//
// The lines of one order and bellman's item of it agree, or differ in the ways of [DifferenceKind].
// A refund is compared with the refund that has its number. Two lines with one refund number and
// different states are one refund: a refund may be listed as PROCESSING on the day on which it was
// accepted, and again when it ended.
//
// The bill and the orders seldom cover the same time exactly. These rules prevent false reports:
//
//   - If the order of a line is not in the sequence, [Options.Find] is asked for it. Only an order that
//     is not found is missing here. Callers can pass the orders that were paid in the bill's period,
//     and no others.
//   - An order belongs to the period that contains its PaidAt. If no line names it, it is missing there.
//     An order of another period is only compared with lines that name it. Periods do not overlap, so
//     that one comparison at most reports an order.
//   - A missing order that was paid within [Options.Edge] of the period's border may be in the
//     neighbouring bill, because systems of the channel disagree about the second. It is reported with
//     [Difference.Edge] set. A query settles it.
//   - A series of daily comparisons with [Bill.Before], the bill of the period before, reports
//     nothing false at the border. Each comparison leaves the missing orders of its last Edge to the
//     next one, which looks for them in both bills. Each comparison then reports the orders of its
//     period moved back by Edge, and these periods do not overlap either. A comparison without it
//     leaves out what the one before has left.
//   - If PaidAt is only the time of a decision, the payment may be hours older. With Before such
//     an order is found in the bill of the period before.
//   - Lines of another [Owner] are left out: a service provider's bill has those of all its
//     sub-merchants. A bill that has no other lines is an error, unless they are of the account's
//     sub-merchants.
//   - If the times of all lines are outside the period, the file is the bill of another day: an error.
//
// The package imports no store and no configuration. Its callers say where orders come from and
// where differences go.
package bill

package order

import (
	"errors"
	"fmt"
	"time"
)

// Errors of a channel that downloads bills, for callers that try again.
var (
	// ErrBillNotReady: the channel makes the bill later. Ask again after half an hour.
	ErrBillNotReady = errors.New("the bill is not ready yet")

	// ErrNoBill: the channel has no bill of that day, because nothing was paid or refunded.
	ErrNoBill = errors.New("there is no bill of that day: nothing was paid or refunded")
)

// billZone is the time zone of WeChat Pay's and Alipay's bills.
var billZone = time.FixedZone("UTC+8", 8*60*60)

// BillReady returns when the Chinese channels have made the bill of a date such as 2026-11-21:
// 10:00 UTC+8 on the next day. If the day is not over at now, the error is ErrBillNotReady.
func BillReady(date string, now time.Time) (time.Time, error) {
	day, err := time.ParseInLocation(time.DateOnly, date, billZone)
	if err != nil {
		return time.Time{}, fmt.Errorf("%.20q is no date: want one such as 2026-11-21", date)
	}
	next := day.AddDate(0, 0, 1)
	ready := next.Add(10 * time.Hour)
	if now.Before(next) {
		return ready, BillNotReady(date, ready, now)
	}
	return ready, nil
}

// BillNotReady returns an ErrBillNotReady that says when to ask again.
func BillNotReady(date string, ready, now time.Time) error {
	when := "in half an hour"
	if now.Before(ready) {
		when = "after " + ready.In(billZone).Format("2006-01-02 15:04") + " UTC+8"
	}
	return fmt.Errorf("%w: ask for the bill of %s %s", ErrBillNotReady, date, when)
}

package order

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bellmanhq/bellman/order/internal/wire"
)

var readingNames = []string{"QUERY_ERROR", "PENDING", "NOT_FOUND", "PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED"}

// Decides reports whether an order with this reading is decided.
func (r Reading) Decides() bool { return r >= Paid }

// IsPaid reports whether somebody paid, even if the payment was refunded since.
func (r Reading) IsPaid() bool { return r == Paid || r == PaidRefunded }

func (r Reading) String() string { return wire.Word(readingNames, int(r), "Reading") }

// ParseReading reads the name of a reading: "PAID".
func ParseReading(name string) (Reading, error) {
	i, err := find(readingNames, name, "state")
	return Reading(i), err
}

var closeNames = []string{"unknown", "closed", "already_closed", "paid_hint", "in_flight", "not_exist", "refunded"}

func (r CloseReading) String() string { return wire.Word(closeNames, int(r), "CloseReading") }

// ParseCloseReading reads the name of a reading of a close: "already_closed".
func ParseCloseReading(name string) (CloseReading, error) {
	i, err := find(closeNames, name, "state of a close")
	return CloseReading(i), err
}

func find(names []string, name, kind string) (int, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, fmt.Errorf("%.40q is no %s: want one of %s", name, kind, strings.Join(names, ", "))
	}
	return i, nil
}

package access

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Scope limits a key to some queues and merchants. The zero Scope is everything.
type Scope struct {
	Queues []string // names of queues; none: all queues

	// Merchants are numbers, and beginnings of numbers that end in *: M1001, M2*. None: all
	// merchants, and tasks without one. * alone means the same.
	Merchants []string
}

// Limited reports whether the scope leaves anything out.
func (s *Scope) Limited() bool { return !s.AllQueues() || !s.AllMerchants() }

// AllQueues reports whether the scope has every queue.
func (s *Scope) AllQueues() bool { return len(s.Queues) == 0 }

// AllMerchants reports whether the scope has every merchant.
func (s *Scope) AllMerchants() bool {
	return len(s.Merchants) == 0 || slices.Contains(s.Merchants, "*")
}

// Named reports whether the scope lists queues or merchants, even if the list is * alone.
func (s *Scope) Named() bool { return len(s.Queues)+len(s.Merchants) > 0 }

// HasQueue reports whether a queue is in the scope.
func (s *Scope) HasQueue(name string) bool { return s.AllQueues() || slices.Contains(s.Queues, name) }

// HasMerchant reports whether a merchant is in the scope. An empty number stands for a task without
// one.
func (s *Scope) HasMerchant(no string) bool {
	return s.AllMerchants() || slices.ContainsFunc(s.Merchants, func(pattern string) bool {
		beginning, open := strings.CutSuffix(pattern, "*")
		return open && strings.HasPrefix(no, beginning) || no == pattern
	})
}

// Has reports whether a task of a queue and a merchant is in the scope.
func (s *Scope) Has(queue, merchant string) bool { return s.HasQueue(queue) && s.HasMerchant(merchant) }

// OneQueue returns the only queue of the scope; empty: it has several.
func (s *Scope) OneQueue() string {
	if len(s.Queues) != 1 {
		return ""
	}
	return s.Queues[0]
}

// OneMerchant returns the only merchant of the scope; empty: it has several, or a beginning of
// numbers.
func (s *Scope) OneMerchant() string {
	if len(s.Merchants) != 1 || strings.HasSuffix(s.Merchants[0], "*") {
		return ""
	}
	return s.Merchants[0]
}

// String describes the scope, such as "queues pay, orders and merchants M1001, M2*".
func (s *Scope) String() string {
	var parts []string
	if !s.AllQueues() {
		parts = append(parts, "queues "+strings.Join(s.Queues, ", "))
	}
	if !s.AllMerchants() {
		parts = append(parts, "merchants "+strings.Join(s.Merchants, ", "))
	}
	if parts == nil {
		return "all queues and merchants"
	}
	return strings.Join(parts, " and ")
}

// maxMerchant is the longest number of a merchant, in characters.
const maxMerchant = 128

// CheckMerchant returns what is wrong with an element of Merchants.
func CheckMerchant(pattern string) error {
	number, _ := strings.CutSuffix(pattern, "*")
	switch {
	case pattern == "":
		return fmt.Errorf("is empty: want a merchant's number, or the beginning of numbers and *")
	case strings.Contains(number, "*"):
		return fmt.Errorf("%.40q: want * at the end alone", pattern)
	case utf8.RuneCountInString(number) > maxMerchant:
		return fmt.Errorf("%.40q… is longer than %d characters", pattern, maxMerchant)
	}
	return nil
}

package store

import (
	"time"

	"github.com/bellmanhq/bellman"
)

// AuditOf returns the record of what somebody did by hand.
func AuditOf(by bellman.By, at time.Time, action, target string) Audit {
	return Audit{At: at, Who: by.Who, Action: action, Target: target, Reason: by.Reason, From: by.From, Job: by.Job}
}

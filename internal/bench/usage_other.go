//go:build !linux

package bench

import (
	"errors"
	"time"
)

// canMeasure reports whether memory and CPU time of another process can be read.
const canMeasure = false

func memoryOf(int) (now, peak int64, err error) { return 0, 0, errors.ErrUnsupported }

func cpuOf(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

func writtenBy(int) int64 { return 0 }

func cpuOfTree(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

func cpuOfAll() (all, ours time.Duration, err error) { return 0, 0, errors.ErrUnsupported }

func cpuModel() string { return "" }

func sleepUntil(at time.Time) { time.Sleep(time.Until(at)) }

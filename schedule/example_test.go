package schedule_test

import (
	"fmt"
	"os"
	"time"

	"github.com/bellmanhq/bellman/schedule"
)

// A task that is never accepted and always attempted exactly when it is due.
func Example() {
	s, err := schedule.Parse("0s, 15s*2, 30s")
	if err != nil {
		fmt.Println(err)
		return
	}
	began := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	last := began
	for n := range 10 {
		due, end := s.Next(n, began, last, 0)
		if end != "" {
			fmt.Println(end)
			break
		}
		fmt.Println(due.Format(time.TimeOnly))
		last = due
	}
	// Output:
	// 15:04:05
	// 15:04:20
	// 15:04:35
	// 15:05:05
	// attempts_used_up
}

func ExampleParse() {
	for _, text := range []string{
		"wechat_notify_legacy",
		"60s, 60s, 2m; max 1d",
		"@ 3s, 6s, 90s",
		`{"1":0,"2":1,"3":2,"4":5,"5":15}`,
		"0s, 15s, 15x",
	} {
		s, err := schedule.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(s)
	}
	// Output:
	// 0s, 15s*2, 30s, 3m, 30m*4, 1h
	// 1m*2, 2m; max 24h
	// @ 3s, 6s, 1m30s
	// 0s, 1m, 2m, 5m, 15m
	// item 3 "15x": want a duration such as 15s or 1h30m, with units ms, s, m, h, d
}

func ExampleSchedule_WriteTable() {
	s, err := schedule.Parse("wechat_notify")
	if err != nil {
		fmt.Println(err)
		return
	}
	s.WriteTable(os.Stdout, 0)
	// Output:
	// attempt      offset         gap       total
	//       1          0s          0s          0s
	//       2         15s         15s         15s
	//       3         30s         15s         30s
	//       4          1m         30s          1m
	//       5          4m          3m          4m
	//       6         14m         10m         14m
	//       7         34m         20m         34m
	//       8        1h4m         30m        1h4m
	//       9       1h34m         30m       1h34m
	//      10        2h4m         30m        2h4m
	//      11        3h4m          1h        3h4m
	//      12        6h4m          3h        6h4m
	//      13        9h4m          3h        9h4m
	//      14       12h4m          3h       12h4m
	//      15       18h4m          6h       18h4m
	//      16       24h4m          6h       24h4m
	// 16 attempts, total 24h4m
}

func ExampleSchedule_WriteTable_endless() {
	s, err := schedule.Parse("5s*2, @10m, 1m* ~10%")
	if err != nil {
		fmt.Println(err)
		return
	}
	s.WriteTable(os.Stdout, 4)
	// Output:
	// attempt      offset         gap       total
	//       1          5s          5s          0s
	//       2         10s          5s          5s
	//       3         10m       9m50s       9m55s
	//       4         11m          1m      10m55s
	//       …  cut after 4 attempts
	// without end: every 1m, until accepted
	// each gap may be up to 10% longer
}

func ExampleParseRepeat() {
	r, err := schedule.ParseRepeat("cron 0 9 * * MON-FRI Asia/Shanghai")
	if err != nil {
		fmt.Println(err)
		return
	}
	friday := time.Date(2026, 11, 20, 15, 4, 5, 0, time.UTC)
	fmt.Println(r.Next(friday))
	// Output: 2026-11-23 01:00:00 +0000 UTC
}

func ExampleParseDuration() {
	d, err := schedule.ParseDuration("1d4m")
	fmt.Println(schedule.FormatDuration(d), err)
	// Output: 24h4m <nil>
}

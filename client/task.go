package client

import "encoding/json"

// MaxBatch is how many tasks, merchants or orders one call takes.
const MaxBatch = 1000

// A CreateTask asks for a task. Only Queue is always required, and URL where
// the queue has no address of its own. Durations are text such as "15s",
// "1h30m" or "1d".
//
// A queue of kind order takes MerchantNo and OrderNo, which are required there,
// Key, Event, OrderCreated, Expires, CodeLife, Vars, Notify, Due or Delay, Schedule and Timeout, and
// nothing else. OrderCreated, Expires, CodeLife, Vars and Notify are for such a queue alone.
type CreateTask struct {
	Queue string `json:"queue" minLength:"1" maxLength:"128" doc:"The class of tasks whose rules it follows."`
	Key   string `json:"key,omitempty" maxLength:"255" doc:"The caller's own name for the task, unique within its queue, at most 255 bytes. The same key with other content is 409. Default for an order: merchant_no/order_no."`

	MerchantNo string `json:"merchant_no,omitempty" maxLength:"128"`
	OrderNo    string `json:"order_no,omitempty" maxLength:"128"`
	Event      string `json:"event,omitempty" maxLength:"128"`

	URL     string            `json:"url,omitempty" maxLength:"2000" doc:"Where the request goes. Required unless the queue has an address of its own."`
	Method  string            `json:"method,omitempty" maxLength:"16" doc:"Default POST."`
	Headers map[string]string `json:"headers,omitempty" doc:"At most 64, of 8,192 bytes each."`
	Body    string            `json:"body,omitempty" doc:"What is sent, as text: at most 262,144 bytes of UTF-8, however they are escaped in JSON; more is 413. Not together with json."`
	JSON    json.RawMessage   `json:"json,omitempty" doc:"What is sent, as any JSON value, byte for byte as given: at most 262,144 bytes; more is 413. Sets Content-Type to application/json unless headers say otherwise. Not together with body."`

	Due   Time   `json:"due,omitzero" format:"date-time" doc:"When the schedule begins; a schedule whose first item is not 0s adds that before the first attempt. Not together with delay; neither means the queue's delay, or now."`
	Delay string `json:"delay,omitempty" maxLength:"64" example:"15s" doc:"Wait before the schedule begins, at most 3650d; 0s is now, whatever the queue's delay; a schedule whose first item is not 0s adds that before the first attempt."`

	Schedule string `json:"schedule,omitempty" maxLength:"4000" example:"0s, 15s*2, 30s" doc:"A preset's name or a schedule's text; default: the queue's."`
	Success  string `json:"success,omitempty" maxLength:"4000" example:"success_text" doc:"A preset's name or an expression; default: the queue's."`
	Timeout  string `json:"timeout,omitempty" maxLength:"64" example:"5s" doc:"Of one attempt; default: the queue's."`
	MaxAge   string `json:"max_age,omitempty" maxLength:"64" example:"24h" doc:"No attempt is due later than this after the schedule began: then the task ends instead. An attempt that was due in time is made even when it is late, after downtime or a pause, and one asked for by hand is always made."`
	Repeat   string `json:"repeat,omitempty" maxLength:"200" example:"10m" doc:"A duration, or cron and an expression: the task begins again after it ended, until it is cancelled. The first round begins as due and delay say, so now if neither is given, with cron too: give due for a first round at its time."`

	OrderingKey string `json:"ordering_key,omitempty" maxLength:"255" doc:"Tasks of one queue that have the same ordering key go out in the order in which they were created, each after the one before has ended. At most 255 bytes. Not together with repeat, and not for an order."`
	Supersedes  bool   `json:"supersedes,omitempty" doc:"Ends the earlier tasks of its ordering key that wait, instead of waiting for them: they are cancelled, reason superseded, and cannot be sent again."`

	Resume *Resume `json:"resume,omitempty" doc:"Where another system left the task: its schedule goes on from there. Not together with due or delay, and not for an order."`

	OrderCreated Time `json:"order_created,omitzero" format:"date-time" doc:"Of an order: when it was created at the channel; expires and code_life count from it, and so does the age before which the channel lets nobody close it. In the latest 31 days by the server's clock, and at most a minute ahead of it. Default: when bellman was told of it."`

	Expires  string            `json:"expires,omitempty" maxLength:"64" example:"30m" doc:"Of an order: when nobody paid so long after it was created, the close protocol begins; default: the queue's."`
	CodeLife string            `json:"code_life,omitempty" maxLength:"64" example:"2h" doc:"Of an order: how long after it was created its payer can pay with the code or page. If the channel knew no such order when it was closed, a late payment is watched for until then; default: the queue's."`
	Vars     map[string]string `json:"vars,omitempty" doc:"Of an order: values for the queue's templates, {vars.NAME}. At most 64, of 4,000 characters each; names of letters, digits and _."`
	Notify   *Notify           `json:"notify,omitempty" doc:"Of an order: how the merchant is told how it ended."`
}

// A Notify says how a merchant is told how an order ended.
type Notify struct {
	URL  string          `json:"url,omitempty" maxLength:"2000" doc:"Where the notification goes; default: where the queue that tells sends to."`
	JSON json.RawMessage `json:"json,omitempty" doc:"An object that the notification begins with; order_no, order_state and what the queue takes from the channel's answer are added."`
}

// A Resume says where another system left a task.
type Resume struct {
	Attempts int  `json:"attempts" minimum:"1" doc:"How many attempts it made."`
	Last     Time `json:"last,omitzero" required:"true" format:"date-time" doc:"When the last of them began."`
	Began    Time `json:"began,omitzero" format:"date-time" doc:"When the first was due, for a schedule with an age or with offsets; default: last."`
}

// A Task is a task as every call answers it.
type Task struct {
	ID    string `json:"id" format:"uuid"`
	Queue string `json:"queue"`
	Kind  string `json:"kind" doc:"What the queue's tasks are: notify or order."`
	Key   string `json:"key"`

	MerchantNo string `json:"merchant_no"`
	OrderNo    string `json:"order_no"`
	Event      string `json:"event"`
	URL        string `json:"url"`
	Method     string `json:"method" doc:"Empty for an order."`

	State       string `json:"state" enum:"pending,succeeded,failed,cancelled"`
	Reason      string `json:"reason" doc:"Why it ended: accepted, attempts_used_up, max_age, gave_up, callback, superseded, …; empty while it is pending."`
	Attempts    int    `json:"attempts" doc:"Made so far, of whatever trigger."`
	Step        int    `json:"step" doc:"Attempts that count for the schedule since it began. Those made by hand do not count, nor does one whose answer ended the task."`
	MaxAttempts *int   `json:"max_attempts" doc:"What the schedule allows; null when it has no end, and for an order, which is asked about until it is decided."`

	Due      *Time `json:"due" format:"date-time" doc:"Earliest time of the next attempt; null when it ended."`
	Created  Time  `json:"created" format:"date-time"`
	Updated  Time  `json:"updated" format:"date-time"`
	Finished *Time `json:"finished" format:"date-time" doc:"null while it is pending."`

	Schedule string `json:"schedule"`
	Success  string `json:"success,omitempty"`
	Timeout  string `json:"timeout,omitempty"`
	MaxAge   string `json:"max_age,omitempty"`
	Repeat   string `json:"repeat,omitempty"`

	OrderingKey string `json:"ordering_key,omitempty" doc:"It goes out after the earlier tasks of its queue that have the same."`
	Supersedes  bool   `json:"supersedes,omitempty" doc:"It ends those that wait, instead of waiting for them."`

	CreatedBy string `json:"created_by,omitempty" doc:"The name of the key that created it; absent: none did, as of what follows another task or comes from a broker."`

	OrderState  string `json:"order_state,omitempty" enum:"PENDING,PAID,PAID_REFUNDED,CLOSED,REVOKED,FAILED,UNKNOWN" doc:"Of an order: how it stands. UNKNOWN: the channel never said, and somebody was alerted."`
	LatePayment string `json:"late_payment,omitempty" enum:"PAID,PAID_REFUNDED" doc:"Of an order: a payment that came after it was decided otherwise, as the channel says; the decided state stays."`

	Last *LastAttempt `json:"last" doc:"The newest attempt; null before the first."`
}

// A LastAttempt is the newest attempt of a task, in short.
type LastAttempt struct {
	Number  int    `json:"number"`
	Trigger string `json:"trigger" enum:"schedule,manual,settle,takeover" doc:"Why it was made."`
	Action  string `json:"action,omitempty" doc:"What an attempt of an order asked for: query, close or reverse."`
	Reading string `json:"reading,omitempty" doc:"How the answer was read, of an order: see reading of an attempt."`
	Result  string `json:"result" enum:"accepted,refused,error_status,unreachable,timeout,blocked,unknown"`
	Status  int    `json:"status" doc:"HTTP status; 0 if no answer came."`
	Error   string `json:"error"`
	Started Time   `json:"started" format:"date-time"`
}

// A TaskDetail is one task with what is sent and what came of it.
type TaskDetail struct {
	Task
	WaitsFor   string    `json:"waits_for,omitempty" format:"uuid" doc:"The first task of its ordering key that has to end before it."`
	Request    Request   `json:"request"`
	AttemptLog []Attempt `json:"attempt_log" nullable:"false" doc:"In order of their numbers: the newest 200, or the 200 after attempts_after."`
}

// A Request is what a task sends.
type Request struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers" doc:"As they are sent, but for secrets: *** stands for the values of Authorization, Proxy-Authorization, Cookie, Set-Cookie and of headers whose names contain token, secret, password, api-key or apikey."`
	Body    string            `json:"body"`

	OrderCreated Time `json:"order_created,omitzero" format:"date-time" doc:"Of an order, as it was given, or when bellman was told of it."`

	Expires  string            `json:"expires,omitempty" doc:"Of an order, as it was asked for."`
	CodeLife string            `json:"code_life,omitempty" doc:"Of an order, as it was asked for."`
	Vars     map[string]string `json:"vars,omitempty" doc:"Of an order, as they were asked for."`
	Notify   *Notify           `json:"notify,omitempty" doc:"Of an order, as it was asked for."`
}

// An Attempt is one try, answered or not.
type Attempt struct {
	Number     int    `json:"number" doc:"1 for the first."`
	Trigger    string `json:"trigger" enum:"schedule,manual,settle,takeover" doc:"Why it was made."`
	Due        Time   `json:"due" format:"date-time"`
	Started    Time   `json:"started" format:"date-time"`
	LatenessMS int64  `json:"lateness_ms" doc:"Started minus due, never negative."`
	TookMS     int64  `json:"took_ms" doc:"Start to last byte, or to giving up."`
	Timing     Timing `json:"timing,omitzero" doc:"Parts of took_ms that went into making a connection; left out where one was there already."`
	Action     string `json:"action,omitempty" doc:"What it asked for, where a queue's tasks ask several things: query, close, …"`
	Reading    string `json:"reading,omitempty" doc:"How the answer was read, of an order. Of a query: PENDING, NOT_FOUND, PAID, PAID_REFUNDED, CLOSED, REVOKED, FAILED; QUERY_ERROR: it says nothing of the order, or there is none. Of a close or reverse: closed, already_closed, paid_hint, in_flight, not_exist, unknown; refunded: reversed, and it was paid."`
	Result     string `json:"result" enum:"accepted,refused,error_status,unreachable,timeout,blocked,unknown"`
	Status     int    `json:"status" doc:"HTTP status; 0 if no answer came."`
	Response   string `json:"response" doc:"The answer, cut at 600 characters."`
	Error      string `json:"error"`
	Node       string `json:"node"`
}

// Timing is how long the parts of making a connection took, to the microsecond. A
// part that did not happen is 0.
type Timing struct {
	DNSMS     float64 `json:"dns_ms" doc:"Resolving the name."`
	ConnectMS float64 `json:"connect_ms" doc:"TCP, or to the proxy."`
	TLSMS     float64 `json:"tls_ms" doc:"Handshake."`
}

// A Batch asks for many tasks at once.
type Batch struct {
	Tasks  []CreateTask `json:"tasks" nullable:"false" minItems:"1" maxItems:"1000"`
	DryRun bool         `json:"dry_run,omitempty" doc:"Only say what would become of each; nothing is created. A task that would be is answered with an id of zeros; a key that is in the batch twice is there for the second, with no task."`
}

// Batched is the answer to a Batch: one result per task, in order.
type Batched struct {
	Results []BatchResult `json:"results" nullable:"false"`
}

// A BatchResult says what became of one task of a batch.
type BatchResult struct {
	Status int      `json:"status" doc:"201: created. 200: its key was there with the same content. Otherwise see error."`
	Task   *Task    `json:"task,omitempty"`
	Error  *Problem `json:"error,omitempty"`
}

// A TaskPage is a page of a list of tasks, newest first.
type TaskPage struct {
	Tasks      []Task `json:"tasks" nullable:"false"`
	NextCursor string `json:"next_cursor" doc:"Where the next page begins; empty at the end, and only there: a page with few tasks, or none, may have one that follows."`
	Warning    string `json:"warning,omitempty" doc:"Why the list may be empty by mistake: there is no queue of the name that was asked for."`
}

// A Filter chooses tasks. Empty fields choose all.
type Filter struct {
	Queue       string `json:"queue,omitempty" maxLength:"128"`
	State       string `json:"state,omitempty" enum:"pending,succeeded,failed,cancelled"`
	MerchantNo  string `json:"merchant_no,omitempty" maxLength:"128"`
	OrderNo     string `json:"order_no,omitempty" maxLength:"128"`
	Key         string `json:"key,omitempty" maxLength:"255"`
	Event       string `json:"event,omitempty" maxLength:"128"`
	URLHost     string `json:"url_host,omitempty" maxLength:"260" doc:"Host, or host:port, of the task's URL."`
	CreatedFrom Time   `json:"created_from,omitzero" format:"date-time" doc:"Inclusive."`
	CreatedTo   Time   `json:"created_to,omitzero" format:"date-time" doc:"Exclusive."`

	// What follows is not looked up: each task that fits the rest is looked at.
	Kind   string `json:"kind,omitempty" enum:"notify,order"`
	Result string `json:"result,omitempty" enum:"accepted,refused,error_status,unreachable,timeout,blocked,unknown" doc:"Of the last attempt."`
	Status int    `json:"status,omitempty" minimum:"100" maximum:"599" doc:"HTTP status of the last attempt's answer."`
}

// A ResendTask asks for an attempt of one task now.
type ResendTask struct {
	Mode   string `json:"mode,omitempty" enum:"once,restart" doc:"once (the default): one attempt now, the schedule stays where it is. restart: the schedule begins anew, now."`
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

// A Because gives the reason of something done by hand.
type Because struct {
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Goes into the audit record."`
}

// A CompleteTask ends a task as succeeded: the answer came another way.
type CompleteTask struct {
	Reason  string `json:"reason,omitempty" maxLength:"500" doc:"Default callback."`
	Outcome string `json:"outcome,omitempty" maxLength:"128" example:"PAID" doc:"What the answer was. Required for an order: PAID, PAID_REFUNDED, CLOSED, REVOKED or FAILED."`
}

// A RescheduleTask moves the next attempt: to a time, or to some time from now.
type RescheduleTask struct {
	Due    Time   `json:"due,omitzero" format:"date-time"`
	Delay  string `json:"delay,omitempty" maxLength:"64" example:"15m" doc:"From now, at most 3650d."`
	Reason string `json:"reason,omitempty" maxLength:"500"`
}

package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/order"
	"github.com/bellmanhq/bellman/rule"
)

// checked returns the answer to a query, or an answer without a state if it is about another order.
// NOT_FOUND need not name the order.
func (c *Channel) checked(o *order.Order, a order.QueryAnswer) order.QueryAnswer {
	if c.about == nil || a.Reading == order.QueryError {
		return a
	}
	no, err := c.named(o, &a, a.Reading.String())
	switch {
	case err == nil && no == o.OrderNo:
		return a
	case err == nil:
		err = fmt.Errorf("the answer is about the order %.40q", no)
	case a.Reading == order.NotFound:
		return a
	default:
		err = fmt.Errorf("the answer does not say which order it is about: %w", err)
	}
	unread := order.QueryAnswer{Answer: a.Answer}
	unread.Error = err.Error()
	if unread.Result == bellman.Accepted {
		unread.Result = bellman.Refused
	}
	return unread
}

// named returns the number of the order, refund or transfer that an answer is about.
func (c *Channel) named(o *order.Order, a *order.QueryAnswer, state string) (string, error) {
	header := make(http.Header, len(a.Header))
	for name, value := range a.Header {
		header.Set(name, value)
	}
	value, err := c.about.Evaluate(&rule.Answer{Status: a.Status, Body: a.Body, Header: header},
		rule.Facts{OrderNo: o.OrderNo, MerchantNo: o.MerchantNo, State: state, Vars: o.Vars, Taken: a.Taken})
	if err != nil {
		return "", err
	}
	return number(value)
}

// number returns an order's number from what an expression evaluates to.
func number(value any) (string, error) {
	switch no := value.(type) {
	case string:
		return no, nil
	case int64:
		return strconv.FormatInt(no, 10), nil
	case uint64:
		return strconv.FormatUint(no, 10), nil
	}
	return "", errors.New("what stands there is neither text nor a whole number")
}

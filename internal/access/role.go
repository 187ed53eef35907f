package access

import "github.com/bellmanhq/bellman/internal/nearest"

// A Role is what a key may do.
type Role string

// The roles. Operate and Decide include Read; Admin includes all.
const (
	Submit  Role = "submit"  // create tasks and orders; read, complete, settle and cancel the caller's own orders
	Read    Role = "read"    // everything that changes nothing
	Operate Role = "operate" // Read, and resend, cancel, complete, reschedule, settle, pause, resume
	Decide  Role = "decide"  // Read, and settle orders and decide them by hand
	Admin   Role = "admin"
)

var roles = []Role{Submit, Read, Operate, Decide, Admin}

// Roles returns the names of all roles.
func Roles() []string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return names
}

// Rights are a set of permissions.
type Rights uint16

// The rights.
const (
	MayCreate Rights = 1 << iota
	MayGet           // one task, one order
	MayRead          // lists and figures, and everybody's tasks
	MayOperate
	MayAdmin
	MaySettle            // orders: query the channel about them now
	MayReport            // orders: say what the channel answered another way, such as by its own notice
	MayDecide            // orders: decide them by hand
	Open      Rights = 0 // no key is needed
)

var rights = map[Role]Rights{
	Submit:  MayCreate | MayGet | MaySettle | MayReport,
	Read:    MayGet | MayRead,
	Operate: MayGet | MayRead | MayOperate | MaySettle,
	Decide:  MayGet | MayRead | MaySettle | MayDecide,
	Admin:   MayCreate | MayGet | MayRead | MayOperate | MayAdmin | MaySettle | MayReport | MayDecide,
}

// Rights returns the rights of a role; none for an unknown role.
func (r Role) Rights() Rights { return rights[r] }

// Includes reports whether a role has all rights of another one. No role includes an unknown role.
func (r Role) Includes(other Role) bool {
	return rights[other] != 0 && rights[r]&rights[other] == rights[other]
}

// String names the roles that have one of the rights, such as "operate or admin".
func (r Rights) String() string {
	var names []string
	for _, role := range roles {
		if rights[role]&r != 0 {
			names = append(names, string(role))
		}
	}
	return nearest.Either(names)
}

package store

// A Finding is a condition of a database or a disk that loses data, or makes bellman slow or fail.
// The function Examine in the package of each store finds them, and bellman doctor prints them.
type Finding struct {
	Name  string `json:"name"`  // what kind of finding it is: "old_transaction"
	Level Level  `json:"level"` // how bad it is
	What  string `json:"what"`  // what was found, with names and numbers
	Do    string `json:"do"`    // what to do about it
}

// A Level says how bad a Finding is.
type Level string

const (
	Warning Level = "warning" // bellman works, but is slower, or may fail later
	Error   Level = "error"   // accepted tasks may be lost, or bellman does not start or stops working
)

// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

/** A value of the API, or {@link #UNRECOGNIZED}. */
public enum AlarmCondition implements Value {
    OVERDUE("overdue"),
    ENDPOINT_FAILING("endpoint_failing"),
    ORDERS_UNKNOWN("orders_unknown"),
    TASKS_FAILED("tasks_failed"),
    STORE_SLOW("store_slow"),
    OVERLOADED("overloaded"),
    NODE_SILENT("node_silent"),
    CREDENTIAL_EXPIRES("credential_expires"),
    ORDER_DECIDED_BY_HAND("order_decided_by_hand"),
    ORDER_NEEDS_ACTION("order_needs_action"),
    AMOUNT_MISMATCH("amount_mismatch"),
    LATE_PAYMENT("late_payment"),
    PAYMENT_WITHOUT_ORDER("payment_without_order"),
    POLL_NEEDS_ACTION("poll_needs_action"),
    /** What a newer server says that this client does not know. It cannot be sent. */
    UNRECOGNIZED("");

    private final String value;

    AlarmCondition(String value) {
        this.value = value;
    }

    /** As it stands in JSON; empty: UNRECOGNIZED. */
    @Override
    public String value() {
        return value;
    }

    static AlarmCondition of(Object json) {
        for (var v : values()) {
            if (v.value.equals(json)) return v;
        }
        return UNRECOGNIZED;
    }
}

// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

/** A value of the API, or {@link #UNRECOGNIZED}. */
public enum AttentionKind implements Value {
    OVERLOADED("overloaded"),
    STORE_SLOW("store_slow"),
    SHARDS_UNOWNED("shards_unowned"),
    NODE_GONE("node_gone"),
    NODE_SILENT("node_silent"),
    NODE_CLOCK("node_clock"),
    ENDPOINT_FAILING("endpoint_failing"),
    ENDPOINT_THROTTLED("endpoint_throttled"),
    ENDPOINT_PAUSED("endpoint_paused"),
    MERCHANT_FAILING("merchant_failing"),
    MERCHANT_PAUSED("merchant_paused"),
    QUEUE_LATE("queue_late"),
    QUEUE_PAUSED("queue_paused"),
    SOURCE_STOPPED("source_stopped"),
    TASKS_FAILED("tasks_failed"),
    ORDERS_UNKNOWN("orders_unknown"),
    AMOUNT_MISMATCH("amount_mismatch"),
    LATE_PAYMENT("late_payment"),
    DUPLICATE_PAYMENT("duplicate_payment"),
    PAYMENT_WITHOUT_ORDER("payment_without_order"),
    POLL_NEEDS_ACTION("poll_needs_action"),
    BILL_DIFFERS("bill_differs"),
    BILL_MISSING("bill_missing"),
    CREDENTIAL_EXPIRES("credential_expires"),
    NOTICES_REFUSED("notices_refused"),
    FOLLOW_UPS_REFUSED("follow_ups_refused"),
    NOT_READY("not_ready"),
    STORE_FULL("store_full"),
    ALARM("alarm"),
    /** What a newer server says that this client does not know. It cannot be sent. */
    UNRECOGNIZED("");

    private final String value;

    AttentionKind(String value) {
        this.value = value;
    }

    /** As it stands in JSON; empty: UNRECOGNIZED. */
    @Override
    public String value() {
        return value;
    }

    static AttentionKind of(Object json) {
        for (var v : values()) {
            if (v.value.equals(json)) return v;
        }
        return UNRECOGNIZED;
    }
}

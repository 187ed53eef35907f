// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

/** A value of the API, or {@link #UNRECOGNIZED}. */
public enum MerchantTrouble implements Value {
    FAILING("failing"),
    LATE("late"),
    PAUSED("paused"),
    /** What a newer server says that this client does not know. It cannot be sent. */
    UNRECOGNIZED("");

    private final String value;

    MerchantTrouble(String value) {
        this.value = value;
    }

    /** As it stands in JSON; empty: UNRECOGNIZED. */
    @Override
    public String value() {
        return value;
    }

    static MerchantTrouble of(Object json) {
        for (var v : values()) {
            if (v.value.equals(json)) return v;
        }
        return UNRECOGNIZED;
    }
}

// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantLimits, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param concurrency Most attempts in flight; default: the queue's.
 * @param rate Most attempts per s, m or h, from 1/h to 1000000/s; default: the queue's.
 */
public record MerchantLimits(
        Integer concurrency,
        String rate) implements Shape {
    static MerchantLimits of(Object json) {
        var r = Shape.Reader.of("MerchantLimits", json);
        return new MerchantLimits(
                r.int32("concurrency"),
                r.text("rate"));
    }

    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "concurrency", concurrency,
                "rate", rate);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a MerchantLimits has. It is of one thread. */
    public static final class Builder {
        private Integer concurrency;
        private String rate;

        private Builder() {
        }

        /** Most attempts in flight; default: the queue's. */
        public Builder concurrency(Integer concurrency) {
            this.concurrency = concurrency;
            return this;
        }

        /** Most attempts per s, m or h, from 1/h to 1000000/s; default: the queue's. */
        public Builder rate(String rate) {
            this.rate = rate;
            return this;
        }

        public MerchantLimits build() {
            return new MerchantLimits(concurrency, rate);
        }
    }
}

package io.github.bellmanhq.client;

/** An enum of the API. */
interface Value {
    String value();
}

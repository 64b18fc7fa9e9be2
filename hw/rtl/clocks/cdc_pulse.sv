// Brings pulses into another clock: as many as went in, each one cycle long. Up to 2^Width - 1 may wait. It has no reset, since none of
// its two sides may forget alone: it starts as the FPGA powers up.
module cdc_pulse #(
    parameter int unsigned Width = 8
) (
    input logic s_clk,
    input logic pulse_i,

    input  logic m_clk,
    output logic pulse_o
);

  logic [Width-1:0] sent_q = '0;
  logic [Width-1:0] given_q = '0;
  logic [Width-1:0] sent, next;

  assign next = sent_q + Width'(pulse_i);

  always_ff @(posedge s_clk) sent_q <= next;

  cdc_gray #(
      .Width(Width)
  ) u_sent (
      .s_clk,
      .next_i  (next),
      .s_code_o(),
      .m_clk,
      .m_code_o(),
      .count_o (sent)
  );

  assign pulse_o = sent != given_q;

  always_ff @(posedge m_clk) given_q <= given_q + Width'(pulse_o);

endmodule

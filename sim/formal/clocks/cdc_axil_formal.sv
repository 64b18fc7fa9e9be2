// The two cdc_restart of a crossing keep step, at any phases and rates of their clocks, which the solver chooses, and whatever resets come:
// looked at in cdc_axil, whose accesses play no part. States are counted from RUN: STOP, CLEAR, DONE, modulo 4.
module cdc_axil_formal (
    input logic s_clk,
    input logic m_clk,

    input logic [1:0] s_restart,  // states
    input logic [1:0] m_restart,
    input logic [1:0] s_meta,     // the master's side's two registers of the other's state
    input logic [1:0] s_sync,
    input logic [1:0] m_meta,
    input logic [1:0] m_sync,
    input logic       s_clear,
    input logic       m_clear,
    input logic       s_stop,
    input logic       m_stop
);

  typedef logic [1:0] step_t;

  function automatic step_t step(input logic [1:0] state);
    unique case (state)
      2'b00:   return 2'd0;
      2'b10:   return 2'd1;
      2'b11:   return 2'd2;
      default: return 2'd3;
    endcase
  endfunction

  step_t ahead;  // of the master's side: 0, 1, or 3 for one step behind
  step_t s_meta_lag, s_sync_lag, m_meta_lag, m_sync_lag;

  assign ahead = step(s_restart) - step(m_restart);
  assign s_meta_lag = step(m_restart) - step(s_meta);
  assign s_sync_lag = step(m_restart) - step(s_sync);
  assign m_meta_lag = step(s_restart) - step(m_meta);
  assign m_sync_lag = step(s_restart) - step(m_sync);

  logic s_begun_q = 1'b0;
  logic m_begun_q = 1'b0;  // there was an edge of the clock
  step_t s_before_q = '0;
  step_t m_before_q = '0;

  always_ff @(posedge s_clk) {s_begun_q, s_before_q} <= {1'b1, step(s_restart)};
  always_ff @(posedge m_clk) {m_begun_q, m_before_q} <= {1'b1, step(m_restart)};

  always_comb begin
    a_in_step : assert (ahead != 2'd2);
    a_cleared_while_stopped : assert (!(s_clear && !m_stop) && !(m_clear && !s_stop));
    if (s_begun_q) a_s_one_step : assert (step_t'(step(s_restart) - s_before_q) <= 2'd1);
    if (m_begun_q) a_m_one_step : assert (step_t'(step(m_restart) - m_before_q) <= 2'd1);

    i_s_lag : assert (s_meta_lag <= s_sync_lag && s_sync_lag != 2'd3);
    i_m_lag : assert (m_meta_lag <= m_sync_lag && m_sync_lag != 2'd3);
    if (s_sync_lag == 2'd2) i_s_lag_two : assert (ahead == 2'd3);
    if (m_sync_lag == 2'd2) i_m_lag_two : assert (ahead == 2'd1);
    if (ahead == 2'd1) i_s_knows : assert (s_sync_lag == 2'd0);
    if (ahead == 2'd3) i_m_knows : assert (m_sync_lag == 2'd0);
  end

endmodule

bind cdc_axil cdc_axil_formal u_formal (
    .s_meta(u_s_restart.u_peer.meta_q),
    .s_sync(u_s_restart.u_peer.sync_q),
    .m_meta(u_m_restart.u_peer.meta_q),
    .m_sync(u_m_restart.u_peer.sync_q),
    .*
);

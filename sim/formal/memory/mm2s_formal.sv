// mm2s asks for nothing that it has no room for: what the memory gives is taken in the same cycle, whatever the sink does.
module mm2s_formal
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Beats = 512,
    parameter int unsigned MaxBurst = 256,

    localparam int unsigned CountW = $clog2(Beats) + 2
) (
    input logic clk,
    input logic rst,

    input axi_read_request_t  m_axi_o,
    input axi_read_response_t m_axi_i,

    input logic data_ready,  // of the memory of what came
    input logic load,
    input logic has_beats,  // the command that is loaded

    input logic [CountW-2:0] room_q,
    input logic [CountW-2:0] spent,
    input logic              passed_q,
    input logic [CountW-2:0] write_q,
    input logic [CountW-2:0] read_q,
    input logic              valid_q,
    input logic [CountW-2:0] burst,
    input logic [CountW-2:0] whole,
    input logic [33-$clog2(DataW/8)-1:0] unasked_q,
    input logic              last_q,
    input logic              busy_q,
    input logic              cut_q,
    input logic              offered_q,
    input logic [7:0]        len_q,
    input logic              in_step  // the copies of the control are equal
);

  localparam int unsigned MOST = 4096 / (DataW / 8) < MaxBurst ? 4096 / (DataW / 8) : MaxBurst;
  typedef logic [CountW-1:0] count_t;
  typedef logic [CountW-2:0] pointer_t;

  reset_rule u_reset (.*);

  logic asked, came;
  count_t owed_q, held;  // beats that the memory owes; that came and were not passed on

  assign asked = m_axi_o.arvalid && m_axi_i.arready;
  assign came = m_axi_i.rvalid;
  assign held = count_t'(pointer_t'(write_q - read_q)) + count_t'(valid_q);

  always_ff @(posedge clk) begin
    owed_q <= owed_q + (asked ? count_t'(m_axi_o.arlen) + 1'b1 : '0) - count_t'(came);
    if (rst) owed_q <= '0;
  end

  always_comb assume (!came || owed_q != '0);
  always_comb assume (!load || has_beats);

  always_comb begin
    if (!rst) begin
      a_step : assert (in_step);
      a_ready : assert (m_axi_o.rready);
      if (came) a_room : assert (data_ready);
      if (m_axi_o.arvalid) a_burst : assert (32'(m_axi_o.arlen) < MOST);

      if (cut_q) i_last : assert (busy_q && last_q == (32'(unasked_q) <= 32'(whole)));
      if (cut_q) i_burst : assert (32'(burst) == (last_q ? 32'(unasked_q) : 32'(whole)));
      if (cut_q) i_len : assert (32'(len_q) + 1 == 32'(burst));
      if (offered_q) i_offered : assert (cut_q && 32'(room_q) >= MOST);
      if (busy_q) i_whole : assert (unasked_q != '0 && whole != '0 && 32'(whole) <= MOST);
      i_cut : assert (spent == '0 || !cut_q);
      i_room : assert (count_t'(room_q) + count_t'(passed_q) + held + owed_q == count_t'(Beats) + count_t'(spent));
      i_spent : assert (room_q >= spent && room_q <= pointer_t'(Beats) && owed_q <= count_t'(Beats));
      i_held : assert (pointer_t'(write_q - read_q) <= pointer_t'(Beats));
      i_full : assert (data_ready == (pointer_t'(write_q - read_q) != pointer_t'(Beats)));
    end
  end

endmodule

bind mm2s mm2s_formal #(
    .DataW   (DataW),
    .Beats   (Beats),
    .MaxBurst(MaxBurst)
) u_formal (
    .spent  (($clog2(Beats) + 1)'(spent_q)),
    .burst  (($clog2(Beats) + 1)'(burst_q)),
    .whole  (($clog2(Beats) + 1)'(whole_q)),
    .has_beats(command_beats != '0),
    .write_q(u_data.write_q),
    .read_q (u_data.read_q),
    .valid_q(u_data.valid_q),
    .in_step(rests_q == {GROUPS{rest_q}} && valids_q == {GROUPS{now.valid}} && readies == {GROUPS{ready}} &&
        valids == {GROUPS{m_axis_tvalid}}),
    .*
);

// vlan_insert is a queue of the bytes of its frames, with the tag behind the twelfth one where a frame has one.
module vlan_insert_formal
  import neighbour_pkg::tag_t;
(
    input logic clk,
    input logic rst,

    input logic [7:0][7:0] s_axis_tdata,
    input logic [7:0]      s_axis_tkeep,
    input logic            s_axis_tlast,
    input tag_t            s_axis_tuser,
    input logic            s_axis_tvalid,
    input logic            s_axis_tready,

    input logic [7:0][7:0] m_axis_tdata,
    input logic [7:0]      m_axis_tkeep,
    input logic            m_axis_tlast,
    input logic            m_axis_tvalid,
    input logic            m_axis_tready,

    input logic            is_first,
    input logic            is_second,
    input logic            is_shifted,
    input logic            is_rest,
    input logic [3:0][7:0] held_q,
    input logic [3:0]      held_keep_q,
    input logic [72:0]     data_q,
    input logic [72:0]     skid_q,
    input logic            valid_q,
    input logic            skid_valid_q
);

  localparam int unsigned DEPTH = 20;  // two beats in the register, and half of one

  typedef logic [5:0] count_t;

  typedef struct packed {
    logic            last;
    logic [7:0]      keep;
    logic [7:0][7:0] data;
  } beat_t;

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(73)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  function automatic count_t bytes(input logic [7:0] keep);
    bytes = '0;
    for (int unsigned k = 0; k < 8; k++) bytes += count_t'(keep[k]);
  endfunction

  // From the first byte on, without gaps
  function automatic logic is_whole(input logic [7:0] keep, input logic last);
    return keep[0] && (keep & (keep + 1'b1)) == '0 && (last || keep == '1);
  endfunction

  logic take, has_tag;
  logic [1:0] beat_q;  // of the frame that comes in; 2 stands for all from there on
  tag_t tag_q;

  assign take   = s_axis_tvalid && s_axis_tready;
  assign has_tag = take && beat_q == 2'd1 && s_axis_tuser.has_vlan;

  always_ff @(posedge clk) begin
    if (take) begin
      tag_q  <= s_axis_tuser;
      beat_q <= s_axis_tlast ? '0 : beat_q + 2'(beat_q != 2'd2);
    end
    if (rst) beat_q <= '0;
  end

  beat_t front, back;
  count_t front_bytes, back_bytes, held_bytes, count;
  logic waits;  // half a beat
  logic [DEPTH-1:0][7:0] held;
  logic [DEPTH-1:0] lasts;

  assign front = beat_t'(data_q);
  assign back = beat_t'(skid_q);
  assign front_bytes = valid_q ? bytes(front.keep) : '0;
  assign back_bytes = skid_valid_q ? bytes(back.keep) : '0;
  assign waits = is_rest || (is_shifted && tag_q.has_vlan);
  assign held_bytes = waits ? bytes({4'd0, held_keep_q}) : '0;

  always_comb begin
    for (int unsigned k = 0; k < DEPTH; k++) begin
      if (count_t'(k) < front_bytes) begin
        held[k] = front.data[3'(k)];
        lasts[k]  = front.last && count_t'(k) == front_bytes - 1'b1;
      end else if (count_t'(k) < front_bytes + back_bytes) begin
        held[k] = back.data[3'(count_t'(k)-front_bytes)];
        lasts[k]  = back.last && count_t'(k) == front_bytes + back_bytes - 1'b1;
      end else begin
        held[k] = held_q[2'(count_t'(k)-front_bytes-back_bytes)];
        lasts[k]  = is_rest && count_t'(k) == front_bytes + back_bytes + held_bytes - 1'b1;
      end
    end
  end

  bytes_rule #(
      .Push (12),
      .Pop  (8),
      .Depth(DEPTH)
  ) u_bytes (
      .clk,
      .rst,
      .push_data_i (has_tag ? {s_axis_tdata[7:4], s_axis_tuser.tci[7:0], s_axis_tuser.tci[15:8],
                    8'h00, 8'h81, s_axis_tdata[3:0]} : 96'(s_axis_tdata)),
      .push_bytes_i(take ? bytes(s_axis_tkeep) + (has_tag ? 6'd4 : 6'd0) : '0),
      .push_last_i (s_axis_tlast),
      .pop_data_i  (m_axis_tdata),
      .pop_bytes_i (m_axis_tvalid && m_axis_tready ? bytes(m_axis_tkeep) : '0),
      .pop_last_i  (m_axis_tlast),
      .count_o     (count),
      .held_i      (front_bytes + back_bytes + held_bytes),
      .bytes_i     (held),
      .lasts_i     (lasts)
  );

  always_comb begin
    assume (!s_axis_tvalid || is_whole(s_axis_tkeep, s_axis_tlast));
    assume (!s_axis_tvalid || beat_q == '0 || s_axis_tuser == tag_q);
    if (s_axis_tvalid && s_axis_tuser.has_vlan) begin
      assume (beat_q != '0 || !s_axis_tlast);
      assume (beat_q != 2'd1 || s_axis_tkeep[4]);
    end
    if (!rst) begin
      if (m_axis_tvalid) a_whole : assert (is_whole(m_axis_tkeep, m_axis_tlast));
      if (count > 6'd4) a_offers : assert (m_axis_tvalid);
      i_skid : assert (valid_q || !skid_valid_q);
      if (valid_q) i_front : assert (is_whole(front.keep, front.last));
      if (skid_valid_q) i_back : assert (is_whole(back.keep, back.last));
      i_state :
      assert ({is_shifted, is_second, is_first || is_rest} == {beat_q == 2'd2, beat_q == 2'd1, beat_q == 2'd0});
      if (waits) i_waits : assert (tag_q.has_vlan && is_whole({4'd0, held_keep_q}, 1'b1) &&
          (is_rest || held_keep_q == '1));
    end
  end

endmodule

bind vlan_insert vlan_insert_formal u_formal (
    .is_first    (state_q == FIRST),
    .is_second   (state_q == SECOND),
    .is_shifted  (state_q == SHIFTED),
    .is_rest     (state_q == REST),
    .data_q      (u_reg.data_q),
    .skid_q      (u_reg.skid_q),
    .valid_q     (u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .*
);

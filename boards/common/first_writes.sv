// What a board's registers are set to before anybody else reaches them: after a reset, the writes of a list one after the other, lowest
// first; then the bus belongs to the other master, which has waited so long.
module first_writes
  import axi_pkg::*;
#(
    parameter int unsigned             Writes = 1,
    parameter logic [Writes-1:0][47:0] List   = '0  // of each the address, 16 bits, above its data
) (
    input logic clk,
    input logic rst,

    // The other master
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,

    // The registers
    output axil_request_t  m_axil_o,
    input  axil_response_t m_axil_i
);

  localparam int unsigned AT_W = $clog2(Writes + 1);

  if (Writes < 1) begin : gen_check
    $error("%m: Writes = %0d must be 1 or more", Writes);
  end

  logic [AT_W-1:0] at_q;
  logic aw_taken_q, w_taken_q, over;
  logic [15:0] address;
  logic [31:0] data;

  assign over = at_q == AT_W'(Writes);

  always_comb begin
    {address, data} = '0;
    for (int unsigned k = 0; k < Writes; k++) if (at_q == AT_W'(k)) {address, data} = List[k];
  end

  always_comb begin
    m_axil_o = s_axil_i;
    s_axil_o = m_axil_i;
    if (!over) begin
      s_axil_o = '0;
      m_axil_o = '0;
      m_axil_o.awaddr = address;
      m_axil_o.awvalid = !aw_taken_q;
      m_axil_o.wdata = data;
      m_axil_o.wstrb = '1;
      m_axil_o.wvalid = !w_taken_q;
      m_axil_o.bready = 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    if (!over) begin
      if (m_axil_i.awready) aw_taken_q <= 1'b1;
      if (m_axil_i.wready) w_taken_q <= 1'b1;
      if (m_axil_i.bvalid) begin
        at_q <= at_q + 1'b1;
        aw_taken_q <= 1'b0;
        w_taken_q <= 1'b0;
      end
    end
    if (rst) begin
      at_q <= '0;
      aw_taken_q <= 1'b0;
      w_taken_q <= 1'b0;
    end
  end

endmodule

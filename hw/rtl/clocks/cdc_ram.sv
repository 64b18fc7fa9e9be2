// Memory that one clock writes and another one reads, with the register of its output. What is read was written long before: whoever
// uses it passes a count through cdc_gray in between. In LUTs every GroupW bits are read by an enable and an address of their own, so that
// none drives more; all of them are always equal.
module cdc_ram #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 16,
    parameter bit          Block = 1'b0,  // block RAM, else of LUTs
    parameter int unsigned GroupW = 112,  // eight cells of 32 words

    localparam int unsigned AddrW  = $clog2(Depth),
    localparam int unsigned Groups = Block ? 1 : (DataW + GroupW - 1) / GroupW
) (
    input logic             s_clk,
    input logic             write_i,
    input logic [AddrW-1:0] write_addr_i,
    input logic [DataW-1:0] write_data_i,

    input  logic                         m_clk,
    input  logic [Groups-1:0]            read_i,
    input  logic [Groups-1:0][AddrW-1:0] read_addr_i,
    output logic [ DataW-1:0]            read_data_o   // from the next cycle on, until the next read
);

  logic [DataW-1:0] word_q;

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = Groups == 1 || AT + GroupW > DataW ? DataW - AT : GroupW;

    if (Block) begin : gen_block
      (* ram_style = "block", ramstyle = "no_rw_check" *)
      logic [WIDTH-1:0] memory[Depth];

      always_ff @(posedge s_clk) if (write_i) memory[write_addr_i] <= write_data_i[AT+:WIDTH];
      always_ff @(posedge m_clk) if (read_i[g]) word_q[AT+:WIDTH] <= memory[read_addr_i[g]];
    end else begin : gen_luts
      (* ram_style = "distributed", ramstyle = "MLAB, no_rw_check" *)
      logic [WIDTH-1:0] memory[Depth];

      always_ff @(posedge s_clk) if (write_i) memory[write_addr_i] <= write_data_i[AT+:WIDTH];
      always_ff @(posedge m_clk) if (read_i[g]) word_q[AT+:WIDTH] <= memory[read_addr_i[g]];
    end
  end

  assign read_data_o = word_q;

endmodule
